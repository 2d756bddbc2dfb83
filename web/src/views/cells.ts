// The table cells that an answer computes with.
import type { PageRecord } from "../types.ts";
import { cellsOf, split, type Range } from "./page.tsx";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether a claim contains a text as a whole word or number. */
const says = (claim: string, text: string): boolean => text.trim() !== "" && new RegExp(`(?<![\\p{L}\\p{N}]|\\p{N}[.,])${escaped(text.trim())}(?![\\p{L}\\p{N}]|[.,]\\p{N})`, "iu").test(claim);

/**
 * Returns the cells that a claim computes with: in each column that it names, the cells whose value and row (by its first
 * cell) it mentions. If it mentions none, but says how many filled cells the column has, returns all of those.
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
