// Finding words in a document: their positions on a page, and the pages that contain them.
import { api } from "../api.ts";
import type { Range } from "./page.tsx";

const mostOccurrences = 50; // that are marked on a page
const mostChunks = 5000; // of a document that are searched

/** Returns an expression that finds a text, ignoring case, with any white space between its words. */
function expression(q: string): RegExp {
  const words = q.trim().split(/\s+/).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(words.join("\\s+"), "giu");
}

/** Returns the ranges in which a query occurs on a page. */
export function occurrences(text: string, q: string): Range[] {
  if (!q.trim()) return [];
  return [...text.matchAll(expression(q))].slice(0, mostOccurrences).map((m) => ({ start: m.index, end: m.index + m[0].length }));
}

/** Returns the numbers of the pages of a document that contain a query, ascending. */
export async function pagesWith(namespace: string, id: string, q: string): Promise<number[]> {
  const wanted = expression(q);
  const pages = new Set<number>();
  let after: number | undefined;
  for (let read = 0; read < mostChunks; ) {
    const { chunks, next } = await api.chunks(namespace, id, after, 200);
    for (const c of chunks) {
      if (c.text.search(wanted) < 0) continue;
      for (const page of new Set(c.spans.map((x) => x.page))) pages.add(page);
    }
    if (next === null) break;
    after = next;
    read += chunks.length;
  }
  if (pages.size <= 1) return [...pages];
  // A passage may span several pages: keep those that really contain the query. Only the first 40 are checked.
  const sorted = [...pages].sort((a, b) => a - b);
  const checked = await Promise.all(sorted.slice(0, 40).map(async (n) => ((await api.page(namespace, id, n)).text.search(wanted) >= 0 ? n : -1)));
  return [...checked.filter((n) => n >= 0), ...sorted.slice(40)];
}
