import assert from "node:assert/strict";
import { test } from "node:test";
import { claimedCells } from "./cells.ts";

function page(columns: string[], rows: string[][]) {
  const lines = [columns.join(" | "), ...rows.map((r) => r.map((c, i) => `${columns[i]}: ${c}`).join("; "))];
  const text = lines.join("\n");
  return { text, blocks: [{ kind: "lines" as const, level: 0, start: 0, end: text.length }] };
}

const sales = page(["Region", "Quarter", "Revenue"], [["North", "Q1", "1200"], ["South", "Q1", "800"], ["North", "Q2", "1500"], ["South", "Q2", "1200"]]);
const cells = (p: ReturnType<typeof page>, claim: string) => claimedCells(p, claim).map((r) => p.text.slice(r.start, r.end));

test("cells that an answer adds up are marked", () => {
  assert.deepEqual(cells(sales, "Sum of Revenue over 4 rows: North 1200, South 800, North 1500, South 1200 → 4700."), ["1200", "800", "1500", "1200"]);
});

test("a cell of a row that the answer leaves out is not", () => {
  assert.deepEqual(claimedCells(sales, "Sum of Revenue over 2 rows: North 1200, North 1500 → 2700.").map((r) => r.start), [0, 2].map((i) => sales.text.split("\n").slice(0, i + 1).join("\n").length + 1 + "Region: North; Quarter: Q1; Revenue: ".length));
});

test("of many rows the whole column is marked, if all of them count", () => {
  const many = page(["Name", "Price"], Array.from({ length: 12 }, (_, i) => [`Row${i}`, String(100 + i)]));
  assert.equal(cells(many, "Sum of Price over 12 rows: 1266.").length, 12);
  assert.deepEqual(cells(many, "Sum of Price over 5 rows: 510."), []);
});

test("numbers within numbers and columns within words do not count", () => {
  assert.deepEqual(cells(sales, "Sum of Revenues: North 12000, South 1,200.5."), []);
  assert.deepEqual(cells(sales, "Sum of Revenue: North 12000, South 1,200.5."), []);
});

test("what is no table has no cells", () => {
  assert.deepEqual(claimedCells({ text: "Revenue\n1200", blocks: [{ kind: "lines", level: 0, start: 0, end: 12 }] }, "Revenue 1200"), []);
});
