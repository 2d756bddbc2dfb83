import assert from "node:assert/strict";
import { test } from "node:test";
import { firstKnown, languages, type Language } from "../lang.ts";
import ar from "./ar.ts";
import de from "./de.ts";
import en, { type Strings } from "./en.ts";
import es from "./es.ts";
import fr from "./fr.ts";
import { toolsFor, type Forms, type Tools } from "./tools.ts";
import zh from "./zh.ts";

const all: Record<Language, (tools: Tools) => Strings> = { en, de, fr, es, zh, ar };

/** Tools that leave numbers as they are, so that they can be found, and miss no form that the language has. */
function strict(language: Language, missing: string[]): Tools {
  const { plural } = toolsFor(language);
  // Zero has no form of its own in most texts; "many" of French and Spanish begins at a million.
  const rare = ["zero", ...(language === "ar" ? [] : ["many"])];
  const needed = new Intl.PluralRules(language).resolvedOptions().pluralCategories.filter((c) => !rare.includes(c));
  return {
    count: String,
    plural: (n: number, forms: Forms) => {
      missing.push(...needed.filter((c) => !forms[c]).map((c) => `${forms.other}: ${c}`));
      return plural(n, forms);
    },
  };
}

type Text = string | ((...values: unknown[]) => string);

/** The texts of a tree by their path. */
function textsOf(tree: object, path = ""): Map<string, Text> {
  const texts = new Map<string, Text>();
  for (const [key, value] of Object.entries(tree)) {
    const at = path ? `${path}.${key}` : key;
    if (typeof value === "object" && value !== null) for (const [k, v] of textsOf(value, at)) texts.set(k, v);
    else texts.set(at, value as Text);
  }
  return texts;
}

const marks = ["⟦1⟧", "⟦2⟧", "⟦3⟧"];
const numbers = [7001, 7002, 7003];

/** The values that a text shows when it is made with them. */
function shown(text: Text, values: unknown[]): string[] {
  if (typeof text === "string") return [];
  const made = call(text, values.slice(0, text.length));
  return values.slice(0, text.length).map(String).filter((v) => made.includes(v));
}

function call(text: (...values: unknown[]) => string, values: unknown[]): string {
  try {
    return String(text(...values)); // a name without words is given back
  } catch {
    return text(values); // it takes a list
  }
}

const english = textsOf(en(strict("en", [])));

for (const language of Object.keys(languages) as Language[]) {
  const missingForms: string[] = [];
  const texts = textsOf(all[language](strict(language, missingForms)));

  test(`${language} has the texts of English, and no others`, () => {
    assert.deepEqual([...texts.keys()].sort(), [...english.keys()].sort());
    for (const [path, text] of texts) assert.ok(text !== "", path);
  });

  test(`${language} shows the same values in each text`, () => {
    for (const [path, text] of english) {
      const other = texts.get(path)!;
      assert.equal(typeof other, typeof text, path);
      assert.deepEqual(shown(other, marks), shown(text, marks), path);
      assert.deepEqual(shown(other, numbers), shown(text, numbers), path);
    }
  });

  test(`${language} has a form of its words for every number`, () => {
    for (const [path, text] of texts) {
      if (typeof text === "string") continue;
      for (const n of [0, 1, 2, 3, 11, 100]) {
        const made = call(text, Array.from({ length: text.length }, () => n));
        assert.ok(!/undefined|null/.test(made), `${path}: ${made}`);
      }
    }
    assert.deepEqual([...new Set(missingForms)], []);
  });
}

test("no language has left a text in English", () => {
  const same = (language: Language) => [...textsOf(all[language](toolsFor(language)))].filter(([path, text]) =>
    typeof text === "string" && text === english.get(path) && / \w+ /.test(text) && !path.startsWith("request.names.")).map(([path]) => path);
  for (const language of ["de", "fr", "es", "zh", "ar"] as const) assert.deepEqual(same(language), [], language);
});

test("the page speaks the first language of the browser that it knows", () => {
  assert.equal(firstKnown(["de-AT", "en"]), "de");
  assert.equal(firstKnown(["ja", "zh-Hant-TW", "en"]), "zh");
  assert.equal(firstKnown(["FR"]), "fr");
  assert.equal(firstKnown(["toString", "constructor"]), "en");
  assert.equal(firstKnown([]), "en");
});
