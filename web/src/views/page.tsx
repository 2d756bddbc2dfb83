// One page of a document, as a picture or as text, with the cited words marked.
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { Box, PageRecord } from "../types.ts";

export interface Range {
  start: number;
  end: number;
}

const s = strings.source;

/** Look is how a page is shown. */
export interface Look {
  zoom: number; // 1 fits the width
  turn: number; // degrees, clockwise
  whole: boolean; // fit the whole page
}

interface PageProps {
  page: PageRecord;
  namespace: string;
  ranges: Range[];
  look: Look;
}

export function PageView({ page, namespace, ranges, look }: PageProps) {
  return page.kind === "image" && page.image_url ? (
    <PictureView page={page} namespace={namespace} ranges={ranges} look={look} />
  ) : (
    <div ref={(el) => { if (el) el.style.fontSize = `${look.zoom}em`; }}><TextView page={page} ranges={ranges} /></div>
  );
}

/** The picture of a page, with boxes over the cited words. Its text is below, for people who cannot see the picture. */
function PictureView({ page, namespace, ranges, look }: PageProps) {
  const [boxes, setBoxes] = useState<Box[]>([]);
  const [broken, setBroken] = useState(false);
  const [loaded, setLoaded] = useState(false);
  const first = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (ranges.length === 0) return setBoxes([]);
    let left = false;
    api.boxes(namespace, page.document_id, page.number, ranges).then((b) => !left && setBoxes(b), () => !left && setBoxes([]));
    return () => {
      left = true;
    };
  }, [page, ranges]);
  useLayoutEffect(() => first.current?.scrollIntoView({ block: "center" }), [boxes]);
  if (broken) return <TextView page={page} ranges={ranges} />;
  return (
    <>
      <div class={`page-frame ${look.whole ? "whole" : ""}`} ref={(el) => frame(el, page, look)}>
      <div class="page-picture" ref={(el) => turned(el, page, look)}>
        <img class={loaded ? undefined : "loading"} src={pictureOf(page.image_url, look.zoom)} alt={s.picture(page.number)} onError={() => setBroken(true)}
          onLoad={() => {
            setLoaded(true);
            first.current?.scrollIntoView({ block: "center" });
          }} />
        {!loaded && <Spinner label={s.loading} />}
        {boxes.map((b, i) => (
          <span key={i} ref={i === 0 ? first : undefined} class="box" style={{ left: percent(b.x), top: percent(b.y), width: percent(b.width), height: percent(b.height) }} />
        ))}
      </div>
      </div>
      {page.text && (
        <details class="page-text">
          <summary>{s.asText}</summary>
          <TextView page={page} ranges={ranges} quiet />
        </details>
      )}
    </>
  );
}

const percent = (fraction: number) => `${(fraction * 100).toFixed(3)}%`;

const margin = 80; // px of the reader's height that the picture must leave free

const lies = (look: Look): boolean => look.turn % 180 !== 0;

/** Sizes the frame, which takes up the space of the rotated picture. */
function frame(el: HTMLElement | null, page: PageRecord, look: Look): void {
  if (!el || page.width <= 0 || page.height <= 0) return;
  const [width, height] = lies(look) ? [page.height, page.width] : [page.width, page.height];
  el.style.aspectRatio = `${width} / ${height}`;
  const room = el.parentElement!;
  const most = (room.clientHeight - margin) * (width / height);
  el.style.width = look.whole && most > 0 ? `min(100%, ${Math.floor(most)}px)` : `${look.zoom * 100}%`;
}

/** Rotates the picture within its frame. */
function turned(el: HTMLElement | null, page: PageRecord, look: Look): void {
  if (!el) return;
  if (page.width <= 0 || page.height <= 0) {
    el.style.position = "static"; // without known dimensions, the picture has its natural size
    return;
  }
  el.style.width = lies(look) ? `${(100 * page.width) / page.height}%` : "100%";
  el.style.aspectRatio = `${page.width} / ${page.height}`;
  el.style.transform = `translate(-50%, -50%) rotate(${look.turn}deg)`;
}

/** Returns the address of a picture, with a width that is sharp on this screen. */
export function pictureOf(url: string, zoom: number): string {
  const width = Math.min(3000, Math.ceil((Math.min(innerWidth, 760) * devicePixelRatio * Math.max(1, zoom)) / 100) * 100);
  return `${url}${url.includes("?") ? "&" : "?"}width=${Math.max(width, 600)}`;
}

/** The text of a page, block by block. */
function TextView({ page, ranges, quiet = false }: { page: PageRecord; ranges: Range[]; quiet?: boolean }) {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!quiet) root.current?.querySelector("mark")?.scrollIntoView({ block: "center" });
  }, [page, ranges]);
  const sorted = [...ranges].sort((a, b) => a.start - b.start);
  const blocks = page.blocks.length > 0 ? page.blocks : [{ kind: "paragraph" as const, level: 0, start: 0, end: page.text.length }];
  return (
    <div class={`page-words ${page.kind}`} ref={root}>
      {blocks.map((block, i) => {
        const words = (start: number, end: number) => marked(page.text, start, end, sorted);
        switch (block.kind) {
          case "heading": {
            const Tag = `h${Math.min(6, block.level + 2)}` as "h3";
            return <Tag key={i} dir="auto">{words(block.start, block.end)}</Tag>;
          }
          case "lines":
            return isTable(page, block) ? <Rows key={i} text={page.text} block={block} words={words} /> : <Lines key={i} text={page.text} block={block} words={words} />;
          default:
            return <p key={i} dir="auto">{words(block.start, block.end)}</p>;
        }
      })}
    </div>
  );
}

type Words = (start: number, end: number) => (string | VNode)[];

/** marked returns the piece of a text from `start` to `end` with the ranges marked. The ranges must be sorted. */
export function marked(text: string, start: number, end: number, ranges: Range[]): (string | VNode)[] {
  const pieces: (string | VNode)[] = [];
  let at = start;
  for (const r of ranges) {
    const from = Math.max(r.start, at);
    const to = Math.min(r.end, end);
    if (from >= to) continue;
    if (from > at) pieces.push(text.slice(at, from));
    pieces.push(<mark key={from}>{text.slice(from, to)}</mark>);
    at = to;
  }
  if (at < end) pieces.push(text.slice(at, end));
  return pieces;
}

interface BlockProps {
  text: string;
  block: Range;
  words: Words;
}

/** Splits a range of a text at a separator, and returns the ranges of the pieces. */
export function split(text: string, { start, end }: Range, separator: string): Range[] {
  const pieces: Range[] = [];
  for (let at = start; at <= end; ) {
    let to = text.indexOf(separator, at);
    if (to < 0 || to > end) to = end;
    pieces.push({ start: at, end: to });
    at = to + separator.length;
  }
  return pieces;
}

function Lines({ text, block, words }: BlockProps) {
  return (
    <ul class="lines" dir="auto">
      {split(text, block, "\n").map((line) => <li key={line.start}>{words(line.start, line.end)}</li>)}
    </ul>
  );
}

/**
 * Returns the cells of a table row, which are stored as "Column: cell; Column: cell" so that each row makes sense
 * by itself; null if the row does not have that form.
 */
export function cellsOf(text: string, row: Range, columns: string[]): Range[] | null {
  const cells: Range[] = [];
  let at = row.start;
  for (const [i, column] of columns.entries()) {
    const name = `${column}: `;
    if (text.startsWith(name, at)) {
      const next = columns.slice(i + 1).map((c) => text.indexOf(`; ${c}: `, at)).filter((n) => n >= 0 && n < row.end);
      const end = next.length > 0 ? Math.min(...next) : row.end;
      cells.push({ start: at + name.length, end });
      at = Math.min(end + 2, row.end);
    } else {
      cells.push({ start: at, end: at }); // empty cells are left out of the text
    }
  }
  return at >= row.end && cells.some((c) => c.end > c.start) ? cells : null;
}

/** Whether a block of lines is a table: in spreadsheets always, elsewhere if every row names its columns. */
function isTable(page: PageRecord, block: Range): boolean {
  if (page.kind === "table") return true;
  const rows = split(page.text, block, "\n");
  const columns = split(page.text, rows[0]!, " | ").map((c) => page.text.slice(c.start, c.end));
  return columns.length > 1 && rows.length > 1 && rows.slice(1).every((row) => cellsOf(page.text, row, columns) !== null);
}

/** A table; the first line has the names of its columns. */
function Rows({ text, block, words }: BlockProps) {
  const rows = split(text, block, "\n");
  const head = split(text, rows[0]!, " | ");
  const columns = head.map((c) => text.slice(c.start, c.end));
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={s.table}>
      <table dir="auto">
        <thead>
          <tr>{head.map((c) => <th key={c.start} scope="col">{words(c.start, c.end)}</th>)}</tr>
        </thead>
        <tbody>
          {rows.slice(1).map((row) => {
            const cells = cellsOf(text, row, columns);
            return (
              <tr key={row.start}>
                {cells ? cells.map((c, i) => <td key={i}>{words(c.start, c.end)}</td>) : <td colSpan={columns.length}>{words(row.start, row.end)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
