import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { test } from "node:test";

/** What each file of a folder imports of that folder. */
function importsOf(root: string): Map<string, string[]> {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f) && !/\.test\./.test(f));
  return new Map(files.map((file) => {
    const names = [...readFileSync(join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/g)].map((m) => normalize(join(file, "..", m[1]!)));
    return [file, names];
  }));
}

/** The first circle that is found, as the files along it. */
function circleIn(graph: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const walk = (file: string, path: string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const found = walk(next, [...path, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const found = walk(file, []);
    if (found.length > 0) return found;
  }
  return [];
}

test("no files import each other in a circle", () => {
  const graph = importsOf("src");
  assert.ok(graph.size > 30, `${graph.size} files`);
  assert.deepEqual(circleIn(graph), []);
  assert.deepEqual(circleIn(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]]])), ["b", "c", "b"]);
});
