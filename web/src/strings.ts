// All texts of the page in its language. Only that language is loaded.
import { language, locale, type Language } from "./lang.ts";
import type { Strings } from "./strings/en.ts";
import { toolsFor, type Tools } from "./strings/tools.ts";

const files: Record<Language, () => Promise<{ default: (tools: Tools) => Strings }>> = {
  en: () => import("./strings/en.ts"),
  de: () => import("./strings/de.ts"),
  fr: () => import("./strings/fr.ts"),
  es: () => import("./strings/es.ts"),
  zh: () => import("./strings/zh.ts"),
  ar: () => import("./strings/ar.ts"),
};

export const strings: Strings = (await files[language]()).default(toolsFor(locale));
