// Conversations: a tree of messages, one path of which is shown. An edited question and a regenerated answer
// become siblings of the original, so nothing is lost.
import { graded, newAnswer, noUsage, type Answer } from "./turnstate.ts";
import type { Citation, Doubt, StageRecord, CallRecord, Usage } from "./types.ts";
import type { Said } from "./said.ts";

export interface Message {
  id: string;
  parent: string; // id; "" for a first message
  role: "user" | "assistant";
  text: string; // of a question; "" for an answer, whose text is in `answer`
  answer: Answer | null; // null for a question
  created: string;
}

export interface Conversation {
  id: string; // "" until it is stored
  title: string;
  messages: Message[];
  chosen: Record<string, string>; // the id of the child shown, by parent id; the newest child by default
  earlier: Earlier | null; // messages that are not loaded yet; null when all are
}

/** Earlier describes the messages that are not loaded yet; they all precede the loaded ones. */
export interface Earlier {
  link: string; // the address of the next part to load
  count: number; // an estimate of their number, all versions included
}

export const emptyConversation = (): Conversation => ({ id: "", title: "", messages: [], chosen: {}, earlier: null });

/** newId returns a random id; ids sort by time of creation. */
export function newId(): string {
  const random = crypto.getRandomValues(new Uint32Array(3));
  return Date.now().toString(36).padStart(9, "0") + "-" + [...random].map((n) => n.toString(36).padStart(7, "0")).join("");
}

export interface Shown {
  message: Message;
  siblings: string[]; // ids of all its versions, including itself
}

/** pathOf returns the messages that are shown, first to last. */
export function pathOf(c: Conversation): Shown[] {
  const children = new Map<string, Message[]>();
  for (const m of c.messages) {
    const list = children.get(m.parent);
    if (list) list.push(m);
    else children.set(m.parent, [m]);
  }
  const path: Shown[] = [];
  const seen = new Set<string>();
  for (let parent = c.earlier ? (c.messages[0]?.parent ?? "") : ""; ; ) {
    const list = children.get(parent);
    if (!list || list.length === 0) return path;
    const message = list.find((m) => m.id === c.chosen[parent]) ?? list[list.length - 1]!;
    if (seen.has(message.id)) return path; // messages stored by clients may form a cycle
    seen.add(message.id);
    path.push({ message, siblings: list.map((m) => m.id) });
    parent = message.id;
  }
}

/** ancestorsOf returns the messages before a message in the tree, first to last. */
export function ancestorsOf(c: Conversation, message: Message): Message[] {
  const byId = new Map(c.messages.map((m) => [m.id, m]));
  const before: Message[] = [];
  for (let m = byId.get(message.parent); m && byId.delete(m.id); m = byId.get(m.parent)) before.push(m); // each once: there may be a cycle
  return before.reverse();
}

/** withEarlier puts an earlier part in front of the loaded messages. `next` is the address of the part before it, "" if there is none. */
export function withEarlier(c: Conversation, part: Message[], next: string): Conversation {
  const known = new Set(c.messages.map((m) => m.id));
  const more = part.filter((m) => !known.has(m.id));
  const [first, ...rest] = c.messages;
  const last = part.at(-1);
  const joined = first && last && first.parent === "" ? [{ ...first, parent: last.id }, ...rest] : c.messages; // it named no parent
  return { ...c, messages: [...more, ...joined], earlier: next ? { link: next, count: Math.max(1, (c.earlier?.count ?? 0) - more.length) } : null };
}

/** historyOf returns messages as the history of a request. Messages without text, such as answers that failed, are left out. */
export function historyOf(messages: Message[]): Said[] {
  const said: Said[] = [];
  for (const message of messages) {
    const content = message.role === "user" ? message.text : (message.answer?.text ?? "");
    if (content.trim()) said.push({ role: message.role, content });
  }
  return said;
}

/** upsert adds a message to a conversation, or replaces the one with the same id. */
export function upsert(c: Conversation, message: Message): Conversation {
  const at = c.messages.findIndex((m) => m.id === message.id);
  const messages = at < 0 ? [...c.messages, message] : c.messages.with(at, message);
  return { ...c, messages };
}

// How much of a citation's passage is stored: enough for the tooltip.
const maxKept = 600; // characters

/** stored returns a message as the server keeps it: the fields of the Chat UI API, and this page's own under `parley`. */
export function stored(m: Message): Record<string, unknown> {
  const common = { messageId: m.id, role: m.role, createdAt: m.created, parentId: m.parent };
  const a = m.answer;
  if (m.role === "user" || !a) return { ...common, content: m.text, status: "completed" };
  return {
    ...common,
    content: a.text,
    contentType: "markdown",
    status: a.status === "completed" ? "completed" : a.status === "failed" || a.status === "cancelled" ? "failed" : "processing",
    sources: a.citations.map((c) => ({ id: c.label, title: c.title || c.name, url: c.content_url || c.url, snippet: (c.quote || c.passage).slice(0, 200) })),
    parley: {
      status: a.status, turn: a.turn, model: a.model, reasoning: a.reasoning.slice(0, 20_000),
      citations: a.citations.map((c) => ({ ...c, passage: c.passage.slice(0, maxKept) })),
      doubts: a.doubts, followUps: a.followUps, stages: a.stages, calls: a.calls, usage: a.usage, cost: a.cost, duration: a.duration,
      found: a.found, error: a.error, finish: a.finish, feedback: a.feedback, labels: a.labels.filter((l) => a.text.includes(`[${l}]`)),
    },
  };
}

type Raw = Record<string, unknown>;
const isRaw = (v: unknown): v is Raw => typeof v === "object" && v !== null && !Array.isArray(v);
const textOf = (v: unknown): string => (typeof v === "string" ? v : "");
const listOf = <T>(v: unknown): T[] => (Array.isArray(v) ? (v.filter(isRaw) as T[]) : []);

const stringsOf = (v: unknown): string[] => (Array.isArray(v) ? v.filter((x) => typeof x === "string") : []);

/** namesParent reports whether a stored message names the message that it follows. */
export const namesParent = (raw: unknown): boolean => isRaw(raw) && typeof raw["parentId"] === "string";

/** restored reads stored messages. Those of other clients name no parent: each follows the message before it. */
export function restored(list: unknown[]): Message[] {
  const messages: Message[] = [];
  let before = "";
  for (const raw of list) {
    if (!isRaw(raw)) continue;
    const role = textOf(raw["role"]).toLowerCase();
    const id = textOf(raw["messageId"]) || textOf(raw["id"]) || `m${messages.length}`;
    if (role !== "user" && role !== "assistant") continue;
    const parent = typeof raw["parentId"] === "string" ? raw["parentId"] : before;
    const text = textOf(raw["content"]);
    messages.push({
      id, parent, role, text: role === "user" ? text : "", created: textOf(raw["createdAt"]),
      answer: role === "assistant" ? restoredAnswer(raw, text) : null,
    });
    before = id;
  }
  return messages;
}

function restoredAnswer(raw: Raw, text: string): Answer {
  const p = isRaw(raw["parley"]) ? raw["parley"] : {};
  const status = textOf(p["status"]);
  const doubts = listOf<Doubt>(p["doubts"]);
  const error = isRaw(p["error"]) ? { kind: textOf(p["error"]["kind"]), message: textOf(p["error"]["message"]) } : null;
  return {
    ...newAnswer(),
    text,
    status: ["completed", "failed", "cancelled", "waiting", "streaming", "reconnecting"].includes(status) ? (status as Answer["status"]) : "completed",
    turn: textOf(p["turn"]),
    model: textOf(p["model"]),
    reasoning: textOf(p["reasoning"]),
    citations: graded(listOf<Citation>(p["citations"]).map((c, i) => ({
      ...c, n: i + 1, label: textOf(c.label), name: textOf(c.name), title: textOf(c.title), document_id: textOf(c.document_id),
      url: textOf(c.url), content_url: textOf(c.content_url), quote: textOf(c.quote), passage: textOf(c.passage),
      namespace: textOf(c.namespace), page: Number(c.page) || 0, spans: listOf(c.spans),
    })), doubts),
    doubts,
    finish: textOf(p["finish"]),
    feedback: isRaw(p["feedback"]) ? { good: p["feedback"]["good"] === true, reason: textOf(p["feedback"]["reason"]) } : null,
    labels: stringsOf(p["labels"]),
    followUps: stringsOf(p["followUps"]),
    stages: listOf<StageRecord>(p["stages"]),
    calls: listOf<CallRecord>(p["calls"]),
    usage: isRaw(p["usage"]) ? ({ ...noUsage, ...p["usage"] } as Usage) : noUsage,
    cost: typeof p["cost"] === "number" || p["cost"] === null ? p["cost"] : 0,
    duration: Number(p["duration"]) || 0,
    found: typeof p["found"] === "number" ? p["found"] : -1,
    error,
  };
}

export interface Totals {
  turns: number;
  input: number;
  output: number;
  cost: number;
  unknown: boolean; // the price of at least one call is unknown
  estimated: boolean;
}

/** totalsOf adds up all loaded answers of a conversation, including versions that are not shown: they cost money too. */
export function totalsOf(c: Conversation): Totals {
  const total: Totals = { turns: 0, input: 0, output: 0, cost: 0, unknown: false, estimated: false };
  for (const { answer } of c.messages) {
    if (!answer) continue;
    total.turns++;
    total.input += answer.usage.input_tokens;
    total.output += answer.usage.output_tokens;
    total.cost += answer.cost ?? 0;
    total.unknown ||= answer.cost === null;
    total.estimated ||= answer.usage.estimated;
  }
  return total;
}

/** citedText returns an answer as it is copied: citations as numbers, with the list of sources below. */
export function citedText(a: Answer, source: (n: number, title: string, page: number) => string): string {
  const text = a.citations.reduce((said, c) => said.replaceAll(`[${c.label}]`, `[${c.n}]`), a.text);
  const below = a.citations.map((c) => source(c.n, oneLine(c.title || c.name), c.page));
  return below.length > 0 ? `${text.trimEnd()}\n\n${below.join("\n")}` : text;
}

/** markdownOf exports the path that is shown, with citations as footnotes. */
export function markdownOf(c: Conversation, words: { you: string; assistant: string }): string {
  const parts = [`# ${oneLine(c.title)}`];
  let notes = 0; // footnotes are numbered across all answers
  for (const { message } of pathOf(c)) {
    if (message.role === "user") {
      parts.push(`## ${words.you}`, message.text);
      continue;
    }
    const answer = message.answer!;
    let text = answer.text;
    const below: string[] = [];
    for (const cited of answer.citations) {
      text = text.replaceAll(`[${cited.label}]`, `[^${++notes}]`);
      const quote = cited.quote && `: “${oneLine(cited.quote)}”`;
      below.push(`[^${notes}]: ${oneLine(cited.title || cited.name)} (${oneLine(cited.label)})${quote}`);
    }
    parts.push(`## ${words.assistant}`, text);
    if (below.length > 0) parts.push(below.join("\n"));
  }
  return parts.join("\n\n") + "\n";
}

const oneLine = (text: string) => text.replace(/\s+/g, " ").trim();

/** jsonOf exports every version of every message. */
export function jsonOf(c: Conversation): string {
  return JSON.stringify({ id: c.id, title: c.title, messages: c.messages.map(stored) }, null, 2) + "\n";
}
