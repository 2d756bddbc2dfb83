// The language of the page.
import { saved } from "./cell.ts";

/** The languages of the page, each by its own name. */
export const languages = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "简体中文", ar: "العربية" } as const;

export type Language = keyof typeof languages;

export const isLanguage = (v: unknown): v is Language => typeof v === "string" && Object.hasOwn(languages, v);

/** The language chosen in the settings; "" follows the browser. */
export const chosenLanguage = saved<Language | "">("parley.language", "", (v): v is Language | "" => v === "" || isLanguage(v));

/** Returns the first language among a browser's language tags that the page supports, else English. */
export function firstKnown(tags: readonly string[]): Language {
  return tags.map((tag) => tag.toLowerCase().split("-")[0]!).find(isLanguage) ?? "en";
}

const inBrowser = typeof document !== "undefined";

/** The language that the browser prefers. Unit tests run in English. */
export const browserLanguage: Language = inBrowser ? firstKnown(navigator.languages) : "en";

/** The language that a link asks for with ?lang=. */
const linked = inBrowser ? new URLSearchParams(location.search).get("lang") : null;

/** The language of the page, fixed until it is loaded again. */
export const language: Language = isLanguage(linked) ? linked : chosenLanguage.value || browserLanguage;

/** The locale for numbers and dates: the browser's tag for this language, with its region, or the bare language. */
export const locale: string = regionOf(language);

function regionOf(language: Language): string {
  if (language === "ar") return "ar-u-nu-latn"; // Latin digits, like those of citations and page numbers
  const tags = inBrowser ? navigator.languages : [];
  return tags.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
}

if (inBrowser) {
  document.documentElement.lang = language;
  document.documentElement.dir = language === "ar" ? "rtl" : "ltr";
}
