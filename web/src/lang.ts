// The language of the page.

export const languages = { en: "English" } as const;

export type Language = keyof typeof languages;

/** The language that is shown; what reads it before the page begins gets English. */
export const language: Language = "en";
