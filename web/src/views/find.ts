// Words in a document: where they are on a page, and which pages have them.
import { api } from "../api.ts";
import type { Range } from "./page.tsx";

const mostOccurrences = 50; // marked on a page
const mostChunks = 5000; // read of a document

/** An expression for a text in which line ends count as spaces. */
function expression(q: string): RegExp {
  const words = q.trim().split(/\s+/).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(words.join("\\s+"), "giu");
}

/** The places of a text on a page. */
export function occurrences(text: string, q: string): Range[] {
  if (!q.trim()) return [];
  return [...text.matchAll(expression(q))].slice(0, mostOccurrences).map((m) => ({ start: m.index, end: m.index + m[0].length }));
}

/** The numbers of the pages of a document on which a text is, ascending. */
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
  // A passage may reach over several pages: those count on which the text really is.
  const sorted = [...pages].sort((a, b) => a - b);
  const checked = await Promise.all(sorted.slice(0, 40).map(async (n) => ((await api.page(namespace, id, n)).text.search(wanted) >= 0 ? n : -1)));
  return [...checked.filter((n) => n >= 0), ...sorted.slice(40)];
}
