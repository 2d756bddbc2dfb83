// The texts of the embedded chat. build.mjs substitutes this file for ../strings.ts in the build of the embedded chat.
import { language, locale, type Language } from "../lang.ts";
import type { Common } from "../strings/common/en.ts";
import { toolsFor, type Tools } from "../strings/tools.ts";

const files: Record<Language, () => Promise<{ default: (tools: Tools) => Common }>> = {
  en: () => import("../strings/common/en.ts"),
  de: () => import("../strings/common/de.ts"),
  fr: () => import("../strings/common/fr.ts"),
  es: () => import("../strings/common/es.ts"),
  zh: () => import("../strings/common/zh.ts"),
  ar: () => import("../strings/common/ar.ts"),
};

export const strings: Common = (await files[language]()).default(toolsFor(locale));
