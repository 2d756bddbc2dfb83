// The cells of a table with which an answer computes.
import type { PageRecord } from "../types.ts";
import { cellsOf, split, type Range } from "./page.tsx";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether a text stands in another one as a word or number of its own. */
const says = (claim: string, text: string): boolean => text.trim() !== "" && new RegExp(`(?<![\\p{L}\\p{N}]|\\p{N}[.,])${escaped(text.trim())}(?![\\p{L}\\p{N}]|[.,]\\p{N})`, "iu").test(claim);

/**
 * The cells that a claim computes with: those in a column that it names whose value it says, in rows that it names by
 * their first cell. Long answers say only of how many rows; then it is all cells of the column, if there are so many.
 */
export function claimedCells(page: Pick<PageRecord, "text" | "blocks">, claim: string): Range[] {
  const { text } = page;
  const word = (r: Range) => text.slice(r.start, r.end);
  const found: Range[] = [];
  for (const block of page.blocks) {
    if (block.kind !== "lines") continue;
    const [head, ...lines] = split(text, block, "\n");
    const columns = split(text, head!, " | ").map(word);
    const rows = lines.map((l) => cellsOf(text, l, columns)).filter((r) => r !== null);
    if (columns.length < 2 || rows.length < lines.length) continue;
    for (const [at, column] of columns.entries()) {
      if (!says(claim, column)) continue;
      const cells = rows.map((r) => r[at]!).filter((c) => c.end > c.start);
      const said = rows.filter((r) => at > 0 && says(claim, word(r[0]!)) && says(claim, word(r[at]!))).map((r) => r[at]!);
      if (said.length > 0) found.push(...said);
      else if (cells.length > 1 && says(claim, String(cells.length))) found.push(...cells);
    }
  }
  return found;
}
