// The language of the page.
import { saved } from "./cell.ts";

/** The languages that the page speaks, each by its own name. */
export const languages = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "简体中文", ar: "العربية" } as const;

export type Language = keyof typeof languages;

export const isLanguage = (v: unknown): v is Language => typeof v === "string" && Object.hasOwn(languages, v);

/** The language that was chosen in the settings; "" follows the browser. */
export const chosenLanguage = saved<Language | "">("parley.language", "", (v): v is Language | "" => v === "" || isLanguage(v));

/** The first language of a list of tags, as a browser has it, that the page speaks. */
export function firstKnown(tags: readonly string[]): Language {
  return tags.map((tag) => tag.toLowerCase().split("-")[0]!).find(isLanguage) ?? "en";
}

const inBrowser = typeof document !== "undefined";

/** What the browser asks for. Unit tests run in English. */
export const browserLanguage: Language = inBrowser ? firstKnown(navigator.languages) : "en";

/** The language that a link asks for with ?lang=. */
const linked = inBrowser ? new URLSearchParams(location.search).get("lang") : null;

/** The language that is shown, until the page is loaded again. */
export const language: Language = isLanguage(linked) ? linked : chosenLanguage.value || browserLanguage;

/** How numbers and dates are written: with the browser's region, if it is one of this language. */
export const locale: string = regionOf(language);

function regionOf(language: Language): string {
  if (language === "ar") return "ar-u-nu-latn"; // citations and page numbers have these digits too
  const tags = inBrowser ? navigator.languages : [];
  return tags.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
}

if (inBrowser) {
  document.documentElement.lang = language;
  document.documentElement.dir = language === "ar" ? "rtl" : "ltr";
}
