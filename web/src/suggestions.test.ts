import assert from "node:assert/strict";
import { test } from "node:test";
import { questionTo } from "./suggestions.ts";

const ask = (title: string, ...headings: string[]) => questionTo({ title, name: "a.md" }, headings.map((h) => ({ headings: [h] })));

test("a question to a document is about a heading that names something", () => {
  assert.match(ask("Security", "1.2", "GET /api/x?y=", "Which pages may call it?"), /^Which pages may call it\?$/);
  assert.match(ask("Benefits", "Benefits", "Dental care"), /“Benefits”.*“Dental care”/);
  assert.match(ask("Zava – Health Plan", "Health Plan", "§§"), /Zava – Health Plan/);
  assert.match(ask("", "12"), /a\.md/);
});
