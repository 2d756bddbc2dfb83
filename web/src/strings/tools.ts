// What the texts of a language are made with.

/** The forms that a word takes beside a number. A form that a language lacks needs no entry. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

export interface Tools {
  /** Chooses the form of a word that goes with n. */
  plural: (n: number, forms: Forms) => string;
  /** Writes a whole number with the separators of the language. */
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
