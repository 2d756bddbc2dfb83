import assert from "node:assert/strict";
import { test } from "node:test";
import { piecesOf } from "./highlight.ts";

test("code is cut into pieces that are the same text", () => {
  const code = 'func main() { // "<b>" \n\tx := "</script>" + 7\n}';
  const pieces = piecesOf("golang", code)!;
  assert.equal(pieces.map((p) => p.text).join(""), code);
  assert.deepEqual(pieces.find((p) => p.kind === "keyword"), { kind: "keyword", text: "func" });
  assert.deepEqual(pieces.find((p) => p.kind === "string"), { kind: "string", text: '"</script>"' });
});

test("languages that are not known, or name something else, have no colours", () => {
  for (const name of ["", "cobol", "constructor", "__proto__", "extend", "insertBefore", "DFS"]) assert.equal(piecesOf(name, "x = 1"), null, name);
});
