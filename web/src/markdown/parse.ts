// A small Markdown parser for the answers of models. It produces trees, never markup; anything it does not know, such as
// HTML, remains text. It takes linear time for each level of nesting, and the depth of nesting is limited.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] }
  | { kind: "citation"; label: string }
  | { kind: "math"; text: string; display: boolean; raw: string } // raw is its source, with the delimiters
  | { kind: "break" };

export type Align = "left" | "right" | "center" | "";

/** Block is a block and its range in the text; `start` serves as its key. */
export type Block = { start: number; end: number } & (
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language: string; text: string; open: boolean }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; first: number; items: Item[] }
  | { kind: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" }
);

export interface Item {
  start: number;
  checked: boolean | null; // in a task list; null in any other
  blocks: Block[];
}

/** Labels are the labels that a text may cite in brackets. */
export type Labels = ReadonlySet<string>;

const noLabels: Labels = new Set();
const maxDepth = 16;

interface Line {
  text: string;
  start: number;
  end: number; // after the line break
}

/** parse parses a text. `base` is added to all positions. */
export function parse(text: string, labels: Labels = noLabels, base = 0): Block[] {
  return blocksOf(linesOf(text, base), labels, 0);
}

/** Reader parses a text that grows: it keeps the blocks so far, and parses only the last one again. */
export class Reader {
  private text = "";
  private blocks: Block[] = [];
  private labels: Labels = noLabels;

  read(text: string, labels: Labels): Block[] {
    const last = this.blocks[this.blocks.length - 1];
    if (last && labels === this.labels && text.length >= this.text.length && text.startsWith(this.text)) {
      const tail = parse(text.slice(last.start), labels, last.start);
      this.blocks = [...this.blocks.slice(0, -1), ...tail];
    } else {
      this.blocks = parse(text, labels);
    }
    this.text = text;
    this.labels = labels;
    return this.blocks;
  }
}

function linesOf(text: string, base: number): Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf("\n", at);
    end = end < 0 ? text.length : end + 1;
    const line = text.slice(at, end).replace(/\r?\n$/, "");
    lines.push({ text: line.replace(/\t/g, "    "), start: base + at, end: base + end });
    at = end;
  }
  return lines;
}

const isBlank = (line: Line) => line.text.trim() === "";
const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const rule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const quote = /^ {0,3}>\s?(.*)$/;
const item = /^( {0,9})([-*+]|(\d{1,9})[.)])(?:( {1,4})(.*)|)$/;
const delimiterRow = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocksOf(lines: Line[], labels: Labels, depth: number): Block[] {
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    if (isBlank(line)) {
      i++;
      continue;
    }
    const read = (depth < maxDepth && containerAt(lines, i, labels, depth)) || leafAt(lines, i, labels);
    blocks.push(read.block);
    i = read.next;
  }
  return blocks;
}

interface Read {
  block: Block;
  next: number; // the line after it
}

function containerAt(lines: Line[], i: number, labels: Labels, depth: number): Read | null {
  const line = lines[i]!;
  if (rule.test(line.text)) return null;
  if (quote.test(line.text)) return quoteAt(lines, i, labels, depth);
  if (item.test(line.text)) return listAt(lines, i, labels, depth);
  return null;
}

function leafAt(lines: Line[], i: number, labels: Labels): Read {
  const line = lines[i]!;
  const place = { start: line.start, end: line.end };
  const opened = fence.exec(line.text);
  if (opened) return codeAt(lines, i, opened[1]!, opened[2] ?? "");
  if (rule.test(line.text)) return { block: { ...place, kind: "rule" }, next: i + 1 };
  const formula = formulaAt(lines, i, labels);
  if (formula) return formula;
  const titled = heading.exec(line.text);
  if (titled) {
    const children = inline(titled[2] ?? "", labels);
    return { block: { ...place, kind: "heading", level: titled[1]!.length, children }, next: i + 1 };
  }
  const below = lines[i + 1];
  if (below && line.text.includes("|") && delimiterRow.test(below.text) && below.text.includes("-")) {
    const table = tableAt(lines, i, labels);
    if (table) return table;
  }
  return paragraphAt(lines, i, labels);
}

const mostLines = 100; // per formula

/** Reads a display formula in $$…$$ or \[…\] with nothing else on its lines. Lines in it that look like list items are part of it. */
function formulaAt(lines: Line[], i: number, labels: Labels): Read | null {
  const mark = /^ {0,3}(\$\$|\\\[)/.exec(lines[i]!.text)?.[1];
  if (!mark) return null;
  const close = mark === "$$" ? "$$" : "\\]";
  let raw = "";
  for (let next = i; next < lines.length && next < i + mostLines && !isBlank(lines[next]!); next++) {
    const line = lines[next]!.text.trim();
    raw += (raw && "\n") + line;
    const end = raw.indexOf(close, mark.length);
    if (end < 0) continue;
    if (end + close.length < raw.length) return null; // text follows
    const children = formulaOf(raw, mark, close, labels);
    return children && { block: { kind: "paragraph", children, start: lines[i]!.start, end: lines[next]!.end }, next: next + 1 };
  }
  return null;
}

/** Returns a formula, followed by the citations that were written inside it; null if the text is not a formula. */
function formulaOf(raw: string, mark: string, close: string, labels: Labels): Inline[] | null {
  const cited: Inline[] = [];
  let text = raw.slice(mark.length, raw.length - close.length);
  for (let at = labels.size > 0 ? text.indexOf("[") : -1; at >= 0; at = text.indexOf("[", at)) {
    const label = labelAt(text, at, labels);
    if (label) {
      cited.push({ kind: "citation", label });
      const before = text.slice(0, at).trimEnd();
      text = before + text.slice(at + label.length + 2);
      at = before.length;
    } else at++;
  }
  if (!isFormula(text, mark)) return null;
  return [{ kind: "math", text, display: mark === "$$" || mark === "\\[", raw: mark + text + close }, ...cited];
}

/** Returns the label in the brackets that open at a position, "" if there is none. File names may contain brackets. */
function labelAt(text: string, at: number, labels: Labels): string {
  let close = at;
  for (let tries = 0; tries < 4; tries++) {
    close = text.indexOf("]", close + 1);
    if (close < 0 || close - at > 2000) return "";
    const label = text.slice(at + 1, close);
    if (labels.has(label)) return label;
  }
  return "";
}

const sign = /[\\^_=<>+*{}\u2200-\u22ff]|(?<!\p{L})\p{L}\(|\)\(/u;
const ratio = /(?<![\p{L}\d])\d*[\p{L}\d][-/]\d*[\p{L}\d](?![\p{L}\d])/u; // a/b and n-1, not TCP/IP

/** Whether the text between delimiters is a formula, and not prices, paths or escaped brackets. */
function isFormula(text: string, mark: string): boolean {
  const body = text.trim();
  if (!body || body.length > 4000) return false;
  const signs = (sign.test(body) && !/[^\^_{][-+*/=]$/.test(body)) || ratio.test(body);
  const lone = /^[A-Za-z\u0370-\u03ff]['\d]?$/.test(body);
  if (mark === "\\[") return signs;
  const words = body.replace(/\\(?:text|mathrm|operatorname|mbox|textrm)\{[^{}]*\}/g, "").replace(/\\[A-Za-z]+/g, "");
  const prose = /\p{L}{4,}|\p{L}{2,}\s+\p{L}{2,}/u.test(words);
  if (mark !== "$") return (signs && !(prose && /^\d/.test(body))) || lone || (!/\p{L}{2,}/u.test(words) && (mark === "$$" ? /[\p{L}\d]/u : /^\d/).test(body));
  if (prose) return false;
  return /^\d/.test(body) ? /[\\^_=]|^\d+[A-Za-z]/.test(body) : signs || lone;
}

function codeAt(lines: Line[], i: number, mark: string, language: string): Read {
  const start = lines[i]!.start;
  const text: string[] = [];
  let open = true;
  let next = i + 1;
  for (; next < lines.length && open; next++) {
    const line = lines[next]!.text;
    const closing = line.trim();
    if (closing.length >= mark.length && closing === mark[0]!.repeat(closing.length)) open = false;
    else text.push(line);
  }
  return { block: { kind: "code", language, text: text.join("\n"), open, start, end: lines[next - 1]!.end }, next };
}

function quoteAt(lines: Line[], i: number, labels: Labels, depth: number): Read {
  const inner: Line[] = [];
  let next = i;
  for (; next < lines.length; next++) {
    const line = lines[next]!;
    const match = quote.exec(line.text);
    if (!match) break;
    inner.push({ ...line, text: match[1]! });
  }
  const blocks = blocksOf(inner, labels, depth + 1);
  return { block: { kind: "quote", blocks, start: lines[i]!.start, end: lines[next - 1]!.end }, next };
}

function listAt(lines: Line[], i: number, labels: Labels, depth: number): Read {
  const first = item.exec(lines[i]!.text)!;
  const ordered = first[3] !== undefined;
  const indent = first[1]!.length;
  const items: Item[] = [];
  let next = i;
  while (next < lines.length) {
    const line = lines[next]!;
    const match = item.exec(line.text);
    if (!match || rule.test(line.text) || match[1]!.length > indent + 3 || (match[3] !== undefined) !== ordered) break;
    if (match[1]!.length < indent && next > i) break;
    const content = match[1]!.length + match[2]!.length + (match[4]?.length ?? 1);
    const taken = itemLines(lines, next, content, match[5] ?? "");
    items.push(itemOf(taken.lines, line.start, labels, depth));
    next = taken.next;
    const after = skipBlank(lines, next);
    if (after > next && (after >= lines.length || !item.test(lines[after]!.text))) break;
    next = after;
  }
  const block: Block = {
    kind: "list", ordered, first: Number(first[3] ?? 1), items, start: lines[i]!.start, end: lines[next - 1]!.end,
  };
  return { block, next };
}

/** Returns the lines of one item: its first, the indented ones below it, and lines that continue its paragraph. */
function itemLines(lines: Line[], i: number, content: number, text: string): { lines: Line[]; next: number } {
  const taken: Line[] = [{ ...lines[i]!, text }];
  let next = i + 1;
  while (next < lines.length) {
    const line = lines[next]!;
    if (isBlank(line)) {
      const after = skipBlank(lines, next);
      if (after >= lines.length || indentOf(lines[after]!.text) < Math.min(content, 2)) break;
      taken.push(...lines.slice(next, after));
      next = after;
      continue;
    }
    const indent = indentOf(line.text);
    if (indent >= Math.min(content, 2) && indent > 0) {
      taken.push({ ...line, text: line.text.slice(Math.min(indent, content)) });
    } else if (!item.test(line.text) && !startsBlock(line.text)) {
      taken.push(line);
    } else {
      break;
    }
    next++;
  }
  return { lines: taken, next };
}

function itemOf(lines: Line[], start: number, labels: Labels, depth: number): Item {
  const task = /^\[([ xX])\]\s+/.exec(lines[0]!.text);
  if (task) lines[0] = { ...lines[0]!, text: lines[0]!.text.slice(task[0].length) };
  return { start, checked: task ? task[1] !== " " : null, blocks: blocksOf(lines, labels, depth + 1) };
}

const indentOf = (text: string) => text.length - text.trimStart().length;

function skipBlank(lines: Line[], i: number): number {
  while (i < lines.length && isBlank(lines[i]!)) i++;
  return i;
}

const startsBlock = (text: string) => fence.test(text) || heading.test(text) || quote.test(text) || rule.test(text);

function paragraphAt(lines: Line[], i: number, labels: Labels): Read {
  let next = i + 1;
  while (next < lines.length && !isBlank(lines[next]!) && !startsBlock(lines[next]!.text) && !startsList(lines, next) && !formulaAt(lines, next, labels)) next++;
  const text = lines.slice(i, next).map((l) => l.text.trimStart()).join("\n").trimEnd();
  return {
    block: { kind: "paragraph", children: inline(text, labels), start: lines[i]!.start, end: lines[next - 1]!.end },
    next,
  };
}

/** Whether a list starts here, directly after a paragraph. An ordered one must start with 1: other numbers are likely part of the sentence. */
function startsList(lines: Line[], i: number): boolean {
  const match = item.exec(lines[i]!.text);
  return match !== null && match[5] !== undefined && match[5] !== "" && (match[3] === undefined || match[3] === "1");
}

function tableAt(lines: Line[], i: number, labels: Labels): Read | null {
  const head = cellsOf(lines[i]!.text);
  const align = cellsOf(lines[i + 1]!.text).map(alignOf);
  if (head.length !== align.length) return null;
  const rows: Inline[][][] = [];
  let next = i + 2;
  for (; next < lines.length && !isBlank(lines[next]!) && lines[next]!.text.includes("|"); next++) {
    const cells = cellsOf(lines[next]!.text);
    rows.push(head.map((_, column) => inline(cells[column] ?? "", labels)));
  }
  const block: Block = {
    kind: "table", align, head: head.map((cell) => inline(cell, labels)), rows, start: lines[i]!.start, end: lines[next - 1]!.end,
  };
  return { block, next };
}

function cellsOf(row: string): string[] {
  const cells: string[] = [];
  let cell = "";
  const text = row.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && text[i + 1] === "|") {
      cell += "|";
      i++;
    } else if (text[i] === "|") {
      cells.push(cell.trim());
      cell = "";
    } else {
      cell += text[i];
    }
  }
  cells.push(cell.trim());
  return cells;
}

function alignOf(cell: string): Align {
  const left = cell.startsWith(":");
  const right = cell.endsWith(":");
  if (left && right) return "center";
  return right ? "right" : left ? "left" : "";
}

/** inline parses the text inside a block. */
export function inline(text: string, labels: Labels = noLabels): Inline[] {
  return new InlineReader(text, labels, 0).read();
}

const escapable = /[\\`*_{}[\]()#+\-.!|~<>"'$&%,/:;=?@^]/;
const longestFormula = 1000; // characters, within a paragraph
const inWord = /[\p{L}\p{N}$]/u; // next to a dollar sign: US$5, $$HOME
const bareURL = /^https?:\/\/[^\s<>"'`|\\^{}]+/;

class InlineReader {
  private at = 0;
  private plain = "";
  private nodes: Inline[] = [];
  private missing = new Set<string>(); // marks that find did not find in the rest of the text

  constructor(
    private readonly text: string,
    private readonly labels: Labels,
    private readonly depth: number,
  ) {}

  read(): Inline[] {
    while (this.at < this.text.length) {
      if (!this.special(this.text[this.at]!)) this.plain += this.text[this.at++];
    }
    this.flush();
    return this.nodes;
  }

  private flush(): void {
    if (this.plain) this.nodes.push({ kind: "text", text: this.plain });
    this.plain = "";
  }

  private push(node: Inline, length: number): true {
    this.flush();
    this.nodes.push(node);
    this.at += length;
    return true;
  }

  /** Parses the construct that starts with a special character; false if the character is ordinary text. */
  private special(c: string): boolean {
    switch (c) {
      case "\\":
        return this.bracketMath() || this.escape();
      case "$":
        return this.dollarMath();
      case "\n":
        return this.lineBreak();
      case "`":
        return this.code();
      case "[":
        return this.citation() || this.link(0);
      case "!":
        return this.text[this.at + 1] === "[" && this.link(1);
      case "<":
        return this.angle();
      case "*":
      case "_":
      case "~":
        return this.emphasis(c);
      case "h":
        return this.url();
    }
    return false;
  }

  /** Parses a formula in \(…\) or \[…\]. */
  private bracketMath(): boolean {
    const mark = this.text.slice(this.at, this.at + 2);
    if (mark !== "\\(" && mark !== "\\[") return false;
    const close = this.text.slice(this.at, this.at + longestFormula).indexOf(mark === "\\(" ? "\\)" : "\\]", 2);
    return close > 0 && this.math(mark, mark === "\\(" ? "\\)" : "\\]", close);
  }

  /** Parses a formula between dollar signs. The dollar signs of prices, shells and templates remain text. */
  private dollarMath(): boolean {
    const rest = this.text.slice(this.at, this.at + longestFormula);
    if (rest.startsWith("$$")) {
      const close = rest.indexOf("$$", 2);
      const joined = inWord.test(this.text[this.at - 1] ?? "") || inWord.test(rest[close + 2] ?? "");
      return (close > 0 && !joined && this.math("$$", "$$", close)) || this.literal("$$");
    }
    const inside = /^\$(?=\S)((?:\\[^]|[^$\\])+)\$(?![\p{L}\p{N}])/u.exec(rest);
    if (!inside || /\s$/.test(inside[1]!) || inWord.test(this.text[this.at - 1] ?? "")) return false;
    return this.math("$", "$", inside[0].length - 1);
  }

  private math(mark: string, close: string, end: number): boolean {
    const raw = this.text.slice(this.at, this.at + end + close.length);
    const nodes = formulaOf(raw, mark, close, this.labels);
    if (!nodes) return false;
    this.flush();
    this.nodes.push(...nodes);
    this.at += raw.length;
    return true;
  }

  private escape(): boolean {
    const next = this.text[this.at + 1];
    if (next === undefined || !escapable.test(next)) return false;
    this.plain += next;
    this.at += 2;
    return true;
  }

  private lineBreak(): boolean {
    const hard = this.plain.endsWith("  ");
    this.plain = this.plain.trimEnd();
    if (hard) return this.push({ kind: "break" }, 1);
    this.plain += "\n";
    this.at++;
    return true;
  }

  private code(): boolean {
    const run = /^`+/.exec(this.text.slice(this.at, this.at + 64))![0];
    const close = this.find(run, this.at + run.length, (end) => this.text[end] !== "`" && this.text[end - run.length - 1] !== "`");
    if (close < 0) {
      this.plain += run;
      this.at += run.length;
      return true;
    }
    const text = this.text.slice(this.at + run.length, close);
    const trimmed = /^ .*[^ ].* $/s.test(text) ? text.slice(1, -1) : text;
    return this.push({ kind: "code", text: trimmed }, close + run.length - this.at);
  }

  /** Returns the position of the first `mark` at or after `from` for whose end `fits` is true; -1 if there is none. */
  private find(mark: string, from: number, fits: (end: number) => boolean): number {
    if (this.missing.has(mark)) return -1;
    for (let at = this.text.indexOf(mark, from); at >= 0; at = this.text.indexOf(mark, at + 1)) {
      if (fits(at + mark.length)) return at;
    }
    this.missing.add(mark);
    return -1;
  }

  /** Parses a citation: a known label in brackets. */
  private citation(): boolean {
    if (this.labels.size === 0 || this.find("]", this.at, () => true) < 0) return false;
    const label = labelAt(this.text, this.at, this.labels);
    return label !== "" && this.push({ kind: "citation", label }, label.length + 2);
  }

  /** Parses a link, or an image, which becomes a link: the page never loads images named by a model. */
  private link(skip: number): boolean {
    const open = this.at + skip;
    const close = this.closing(open);
    if (close < 0 || this.text[close + 1] !== "(") return false;
    const target = /^\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
      this.text.slice(close + 1, close + 4096),
    );
    if (!target) return false;
    const words = this.text.slice(open + 1, close);
    const length = close + 1 + target[0].length - this.at;
    const href = safeHref(target[1] ?? target[2] ?? "");
    const children = this.inner(words);
    if (!href) {
      this.flush();
      this.nodes.push(...children);
      this.at += length;
      return true;
    }
    return this.push({ kind: "link", href, children: children.length ? children : [{ kind: "text", text: href }] }, length);
  }

  private closing(open: number): number {
    if (this.find("]", open, () => true) < 0) return -1;
    let depth = 0;
    const end = Math.min(this.text.length, open + 2000);
    for (let i = open; i < end; i++) {
      if (this.text[i] === "\\") i++;
      else if (this.text[i] === "[") depth++;
      else if (this.text[i] === "]" && --depth === 0) return i;
    }
    return -1;
  }

  private angle(): boolean {
    const rest = this.text.slice(this.at, this.at + 2048);
    const br = /^<br\s*\/?>/i.exec(rest);
    if (br) return this.push({ kind: "break" }, br[0].length);
    const auto = /^<((?:https?:\/\/|mailto:)[^\s<>]*)>/i.exec(rest);
    const href = auto && safeHref(auto[1]!);
    if (!auto || !href) return false;
    return this.push({ kind: "link", href, children: [{ kind: "text", text: auto[1]! }] }, auto[0].length);
  }

  private emphasis(c: string): boolean {
    const run = /^[*_~]+/.exec(this.text.slice(this.at, this.at + 3))![0];
    const double = run.startsWith(c + c);
    const mark = double ? c + c : c;
    if ((c === "~" && !double) || this.depth >= maxDepth) return false;
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[this.at + mark.length] ?? " ";
    if (/\s/.test(after) || (c === "_" && /\w/.test(before))) return this.literal(mark);
    const from = this.at + mark.length;
    const close = this.find(mark, from + 1, (end) => this.closes(c, double, end, mark.length));
    if (close < 0 || close <= from) return this.literal(mark);
    const children = this.inner(this.text.slice(from, close));
    const kind = c === "~" ? "del" : double ? "strong" : "em";
    return this.push({ kind, children }, close + mark.length - this.at);
  }

  private closes(c: string, double: boolean, end: number, length: number): boolean {
    if (/\s/.test(this.text[end - length - 1] ?? " ")) return false;
    if (c === "_" && /\w/.test(this.text[end] ?? " ")) return false;
    return this.text[end] !== c && (double || this.text[end - length - 1] !== c);
  }

  private literal(mark: string): true {
    this.plain += mark;
    this.at += mark.length;
    return true;
  }

  private inner(text: string): Inline[] {
    if (this.depth >= maxDepth) return [{ kind: "text", text }];
    return new InlineReader(text, this.labels, this.depth + 1).read();
  }

  private url(): boolean {
    if (/\w/.test(this.text[this.at - 1] ?? " ")) return false;
    const match = bareURL.exec(this.text.slice(this.at, this.at + 2048));
    if (!match) return false;
    let url = match[0].replace(/[.,;:!?*_~]+$/, "");
    while (url.endsWith(")") && url.split("(").length < url.split(")").length) url = url.slice(0, -1);
    url = url.replace(/\].*$/s, "");
    const href = safeHref(url);
    return href !== "" && this.push({ kind: "link", href, children: [{ kind: "text", text: url }] }, url.length);
  }
}

const schemes = new Set(["http:", "https:", "mailto:"]);

/** safeHref returns an address if a link may lead to it, else "". Relative addresses are not allowed. */
export function safeHref(href: string): string {
  try {
    const url = new URL(href);
    return schemes.has(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

/** documentHref returns the address of a document's original: a path on this server, or an address that safeHref allows; else "". */
export function documentHref(href: string): string {
  return /^\/content\/[^\\]*$/.test(href) ? href : safeHref(href);
}
