// Helpers for building the texts of a language.

/** Forms are the plural forms of a word. A form that a language lacks needs no entry. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

export interface Tools {
  /** Returns the form of a word for the number n. */
  plural: (n: number, forms: Forms) => string;
  /** Formats a whole number with the language's separators. */
  count: (n: number) => string;
}

export function toolsFor(locale: string): Tools {
  const rules = new Intl.PluralRules(locale);
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  return {
    plural: (n, forms) => forms[rules.select(n)] ?? forms.other,
    count: (n) => whole.format(n),
  };
}
