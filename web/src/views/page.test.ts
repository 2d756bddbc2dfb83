import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf } from "./page.tsx";

test("rows of a table have their cells in their columns", () => {
  const columns = ["Museum", "Opens", "Closes"];
  const cells = (row: string) => cellsOf(`x\n${row}`, { start: 2, end: row.length + 2 }, columns)?.map((c) => `x\n${row}`.slice(c.start, c.end));
  assert.deepEqual(cells("Museum: Amber; Opens: 10:00; Closes: 17:00"), ["Amber", "10:00", "17:00"]);
  assert.deepEqual(cells("Museum: A; B; Closes: 17:00"), ["A; B", "", "17:00"]);
  assert.deepEqual(cells("Closes: 17:00"), ["", "", "17:00"]);
  assert.equal(cells("Something else"), undefined);
  assert.equal(cells(""), undefined);
});
