// Evaluation: a set of questions asked with two variants of the settings, and the outcomes. Every question is an
// ordinary turn of the user, with their access rights and charged to their budget.
import { api } from "./api.ts";
import { ApiError, refusal, toApiError } from "./calls.ts";
import { saved } from "./cell.ts";
import { restored } from "./conversation.ts";
import { reach } from "./reach.ts";
import { ragchatRequest } from "./requests.ts";
import type { Choices, Value } from "./settings.ts";
import { questionTo } from "./suggestions.ts";
import { isLoud } from "./turnstate.ts";
import type { ChatEntry, TurnRecord } from "./types.ts";

/** Case is a question and the sources that its answer should cite. The fields are named as in the files that `parley eval` reads. */
export interface Case {
  id: string;
  question: string;
  truth: string; // a reference answer, "" if there is none
  citations: string[]; // labels of the expected sources, such as "handbook.pdf#page=3"; empty if unknown
}

/** Variant is one side of the comparison: how its settings differ from those of the page. */
export interface Variant {
  model: string; // "" for the page's model
  values: Record<string, Value>;
}

export type Verdict = "cited" | "found" | "missed" | "answered" | "empty" | "failed";

/** Outcome is the result of asking a question with a variant. */
export interface Outcome {
  verdict: Verdict;
  turn: string;
  answer: string;
  sources: { label: string; document: string; namespace: string; name: string; page: number }[];
  unconfirmed: number; // citations that the cited page does not confirm
  duration: number; // ms
  cost: number | null; // USD
  problem: string; // why it failed
}

export interface Run {
  at: string;
  namespace: string;
  variants: [Variant, Variant];
  outcomes: Record<string, [Outcome | null, Outcome | null]>; // by case id
}

/** The most cases in the set: nobody would look at more, and each costs money. */
export const maxCases = 200;
const longest = 4000; // characters of a question or an answer; the rest is cut off

const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

const isCase = (v: unknown): v is Case =>
  isRecord(v) && typeof v["id"] === "string" && typeof v["question"] === "string" && typeof v["truth"] === "string" && Array.isArray(v["citations"]) && v["citations"].every((c) => typeof c === "string");

export const cases = saved<Case[]>("parley.evaluation", [], (v): v is Case[] => Array.isArray(v) && v.every(isCase));

/** Adds the cases whose questions are new, up to maxCases in all, and returns how many were added. */
export function addCases(more: Omit<Case, "id">[]): number {
  const known = new Set(cases.value.map((c) => c.question));
  const fresh: Case[] = [];
  for (const c of more) {
    const question = c.question.trim().slice(0, longest);
    if (!question || known.has(question) || cases.value.length + fresh.length >= maxCases) continue;
    known.add(question);
    fresh.push({ id: freeId(fresh), question, truth: c.truth.slice(0, longest), citations: c.citations });
  }
  if (fresh.length > 0) cases.value = [...cases.value, ...fresh];
  return fresh.length;
}

function freeId(taken: Case[]): string {
  const ids = new Set([...cases.value, ...taken].map((c) => c.id));
  let n = ids.size + 1;
  while (ids.has(`q${n}`)) n++;
  return `q${n}`;
}

// ---- Where questions come from --------------------------------------------------------------------

const textOf = (v: unknown): string => (typeof v === "string" ? v : "");
const labelsOf = (v: unknown): string[] => (Array.isArray(v) ? v.filter((x) => typeof x === "string") : typeof v === "string" && v ? [v] : []);

/**
 * Parses a file of questions: JSON Lines or a JSON list with "question", "truth" and "citations" or "gold", as
 * `parley eval` reads them; CSV with such columns; or one question per line.
 */
export function parseCases(text: string): Omit<Case, "id">[] {
  const clean = text.replace(/^\uFEFF/, "").trim();
  if (clean.startsWith("[")) return recordsOf(tryJSON(clean));
  if (clean.startsWith("{")) return clean.split(/\r?\n/).flatMap((line) => recordsOf([tryJSON(line)]));
  const rows = parseCSV(clean);
  const head = (rows[0] ?? []).map((h) => h.trim().toLowerCase());
  const at = (...names: string[]) => head.findIndex((h) => names.includes(h));
  const question = at("question", "query");
  if (question < 0) return clean.split(/\r?\n/).map((line) => ({ question: line.trim(), truth: "", citations: [] })).filter((c) => c.question);
  const truth = at("truth", "answer", "expected");
  const gold = at("citations", "gold", "source");
  return rows.slice(1).map((r) => ({
    question: r[question]?.trim() ?? "", truth: r[truth] ?? "",
    citations: (r[gold] ?? "").split(/[;|\n]/).map((l) => l.trim()).filter(Boolean),
  })).filter((c) => c.question);
}

function tryJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function recordsOf(list: unknown): Omit<Case, "id">[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isRecord).map((r) => ({
    question: textOf(r["question"]) || textOf(r["query"]), truth: textOf(r["truth"]), citations: [...labelsOf(r["citations"]), ...labelsOf(r["gold"])],
  })).filter((c) => c.question);
}

/** Parses comma-separated values (RFC 4180). Blank rows are left out. */
function parseCSV(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain = "", end = ""] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)!.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === "") break;
    if (end !== ",") rows.push([]);
  }
  return rows.filter((r) => r.some((x) => x.trim()));
}

/** Returns the cases as a file that `parley eval` reads. */
export const casesFile = (list: Case[]): string => list.map((c) => JSON.stringify(c) + "\n").join("");

/** Returns the questions whose answers were rated in the given chats. If the rating is good, the confirmed citations are the expected sources. */
export async function ratedCases(chats: ChatEntry[]): Promise<Omit<Case, "id">[]> {
  const found: Omit<Case, "id">[] = [];
  for (const { id } of chats) {
    const messages = restored(await api.chatMessages(id));
    for (const m of messages) {
      const feedback = m.answer?.feedback;
      const question = messages.find((q) => q.id === m.parent);
      if (!feedback || question?.role !== "user" || question.parent) continue; // a follow-up needs its conversation
      found.push({ question: question.text, truth: "", citations: feedback.good ? m.answer!.citations.filter((c) => c.supported).map((c) => c.label) : [] });
    }
    if (found.length >= maxCases) break;
  }
  return found;
}

const perDocument = 2; // questions
const mostDocuments = 25;

/** Makes questions from headings. Uses the newest of the first 100 documents by name; the pages of a heading's passages are the expected sources. */
export async function documentCases(namespace: string): Promise<Omit<Case, "id">[]> {
  const { documents } = await api.documents(namespace, "");
  const newest = documents.filter((d) => d.chunks > 0).sort((a, b) => b.indexed_at.localeCompare(a.indexed_at)).slice(0, mostDocuments);
  const made: Omit<Case, "id">[] = [];
  for (const d of newest) {
    const { chunks } = await api.chunks(namespace, d.id);
    const asked = new Set<string>();
    for (const chunk of chunks) {
      if (asked.size >= perDocument) break;
      const heading = chunk.headings.at(-1);
      const question = questionTo(d, [chunk]);
      if (!heading || asked.has(question) || question === questionTo(d, [])) continue; // only a summary of the whole document could be asked for
      asked.add(question);
      // A section may span several passages with the same heading.
      const pages = chunks.filter((c) => c.headings.at(-1) === heading).flatMap((c) => c.spans.map((s) => s.page));
      made.push({ question, truth: "", citations: [...new Set(pages.map((p) => (p > 0 ? `${d.name}#page=${p}` : d.name)))] });
    }
  }
  return made;
}

// ---- Running --------------------------------------------------------------------------------------

const tries = 4; // per question, if the server is busy

/** Asks every case with each variant, one request at a time, and calls `came` with each outcome. It returns early when aborted. */
export async function runCases(list: Case[], choices: Choices, variants: readonly Variant[], signal: AbortSignal, came: (id: string, at: number, outcome: Outcome) => void): Promise<void> {
  for (const c of list) {
    for (const [at, variant] of variants.entries()) {
      if (signal.aborted) return;
      const outcome = await ask(c, choices, variant, signal);
      if (outcome) came(c.id, at, outcome);
    }
  }
}

/** Asks a case with a variant and returns its outcome, null if it was aborted. */
async function ask(c: Case, choices: Choices, variant: Variant, signal: AbortSignal): Promise<Outcome | null> {
  const set: Choices = {
    ...choices,
    models: variant.model ? { ...choices.models, inference: variant.model } : choices.models,
    values: { ...choices.values, suggest_followup_questions: false, ...variant.values },
  };
  try {
    return outcomeOf(c, await turnOf(ragchatRequest({ text: c.question, history: [], choices: set }), signal));
  } catch (error) {
    if (signal.aborted) return null;
    return { ...nothing, verdict: "failed", problem: toApiError(error).message };
  }
}

async function turnOf(request: { path: string; body: unknown }, signal: AbortSignal): Promise<TurnRecord> {
  for (let n = 1; ; n++) {
    const response = await reach(request.path, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(request.body) });
    const turn = response.headers.get("X-Turn-Id");
    if (response.ok && turn) {
      await response.arrayBuffer(); // when the response ends, the turn is complete
      return api.turn(turn);
    }
    if (response.ok) throw new ApiError("failed", "");
    const error = await refusal(response);
    if (error.kind !== "busy" || n >= tries) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.max(1, Math.min(error.retryAfter, 30))));
  }
}

const nothing: Outcome = { verdict: "empty", turn: "", answer: "", sources: [], unconfirmed: 0, duration: 0, cost: 0, problem: "" };

/** Whether a label is among the expected ones. An expected label without a page matches every page of its document. */
export function isExpected(label: string, expected: string[]): boolean {
  const name = label.replace(/#page=\d+$/, "");
  return expected.some((e) => e === label || e === name);
}

export function outcomeOf(c: Case, turn: TurnRecord): Outcome {
  const cited = turn.citations.map((x) => x.label);
  const found = (turn.thoughts?.passages ?? []).flatMap((p) => {
    const name = p.label.replace(/#page=\d+$/, "");
    return [p.label, ...p.pages.filter((n) => n > 0).map((n) => `${name}#page=${n}`)];
  });
  const hits = (labels: string[]) => labels.some((l) => isExpected(l, c.citations));
  const judged: Verdict = c.citations.length === 0 ? (cited.length > 0 ? "answered" : "empty") : hits(cited) ? "cited" : hits(found) ? "found" : "missed";
  return {
    verdict: turn.status === "completed" ? judged : "failed",
    turn: turn.id,
    answer: turn.answer.slice(0, longest),
    sources: turn.citations.map((x) => ({ label: x.label, document: x.document_id, namespace: x.namespace, name: x.title || x.name, page: x.page })),
    unconfirmed: turn.unsupported.filter(isLoud).length,
    duration: turn.duration,
    cost: turn.cost,
    problem: turn.error?.message ?? "",
  };
}

export interface Summary {
  asked: number;
  expected: number; // questions with expected sources
  cited: number;
  found: number; // includes cited
  sourced: number; // answers with citations
  unconfirmed: number;
  failed: number;
  duration: number; // ms, average per question
  cost: number;
  unknown: boolean; // the price of at least one call is unknown
}

export function summaryOf(list: Case[], run: Run, at: 0 | 1): Summary {
  const sum: Summary = { asked: 0, expected: 0, cited: 0, found: 0, sourced: 0, unconfirmed: 0, failed: 0, duration: 0, cost: 0, unknown: false };
  for (const c of list) {
    const o = run.outcomes[c.id]?.[at];
    if (!o) continue;
    sum.asked++;
    if (c.citations.length > 0) sum.expected++;
    if (o.verdict === "cited") sum.cited++;
    if (o.verdict === "cited" || o.verdict === "found") sum.found++;
    if (o.sources.length > 0) sum.sourced++;
    if (o.verdict === "failed") sum.failed++;
    sum.unconfirmed += o.unconfirmed;
    sum.duration += o.duration;
    sum.cost += o.cost ?? 0;
    sum.unknown ||= o.cost === null;
  }
  sum.duration /= Math.max(sum.asked, 1);
  return sum;
}

const order: Verdict[] = ["failed", "missed", "empty", "found", "answered", "cited"]; // worst first

export const isGood = (o: Outcome): boolean => o.verdict === "cited" || o.verdict === "answered";

/** Whether an outcome is worth looking at: a poor verdict, or unconfirmed citations. */
export const isMiss = (o: Outcome | null): boolean => o !== null && (!isGood(o) || o.unconfirmed > 0);

/** Compares two outcomes: negative if the first is better, positive if the second is, 0 if equal or one is missing. */
export function better(a: Outcome | null, b: Outcome | null): number {
  if (!a || !b) return 0;
  return order.indexOf(b.verdict) - order.indexOf(a.verdict) || a.unconfirmed - b.unconfirmed;
}
