// The state of a turn, built from its events, and what a conversation keeps of it.
import { kindOf } from "./calls.ts";
import type { CallRecord, Citation, Doubt, StageRecord, TurnEvent, TurnRecord, Usage } from "./types.ts";

export type AnswerStatus = "waiting" | "streaming" | "reconnecting" | "completed" | "failed" | "cancelled";

export interface AnswerError {
  kind: string; // FailureKind
  message: string;
  retryAfter?: number;
}

/** Feedback is the user's rating of an answer, with the reason for a bad one. */
export interface Feedback {
  good: boolean;
  reason: string;
}

/** Answer is what a conversation keeps of a turn. */
export interface Answer {
  status: AnswerStatus;
  turn: string; // "" until the server has named it
  text: string;
  reasoning: string;
  model: string;
  citations: Citation[];
  doubts: Doubt[];
  followUps: string[];
  stages: StageRecord[];
  calls: CallRecord[];
  usage: Usage;
  cost: number | null;
  duration: number; // ms
  step: string; // the current stage, until the turn's own events report it
  found: number; // passages retrieved; -1 before that, or if none were needed
  error: AnswerError | null;
  labels: string[]; // all labels that the text may cite
  feedback: Feedback | null;
  finish: string; // why the model stopped; "length" if it reached its length limit
  record?: TurnRecord; // of the finished turn; not stored with the conversation
}

export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0, estimated: false };

export function newAnswer(): Answer {
  return {
    status: "waiting", turn: "", text: "", reasoning: "", model: "", citations: [], doubts: [], followUps: [], stages: [], calls: [],
    usage: noUsage, cost: 0, duration: 0, step: "", found: -1, error: null, labels: [], finish: "", feedback: null,
  };
}

export const isOver = (a: Answer) => a.status === "completed" || a.status === "failed" || a.status === "cancelled";

interface WireUsage {
  input?: number;
  output?: number;
  cached?: number;
  reasoning?: number;
  estimated?: boolean;
}

const usageOf = (u: WireUsage | undefined): Usage => ({
  input_tokens: u?.input ?? 0, output_tokens: u?.output ?? 0, cached_tokens: u?.cached ?? 0,
  reasoning_tokens: u?.reasoning ?? 0, estimated: u?.estimated ?? false,
});

interface WireCitation {
  label: string;
  document_id: string;
  namespace?: string;
  name: string;
  title: string;
  url: string;
  page: number;
  snippet: string;
}

/** Body has the fields of all events; each event has some of them. */
interface Body {
  stage?: string;
  agent?: string;
  duration?: number; // ns
  model?: string;
  note?: string;
  text?: string;
  code?: string;
  message?: string;
  usage?: WireUsage;
  passages?: unknown[] | null;
  small_talk?: boolean;
  labels?: string[] | null;
  finish_reason?: string;
  questions?: string[] | null;
  doubts?: Doubt[] | null;
  citations?: WireCitation[] | null;
}

const nanosecondsPerMs = 1e6;

/** apply updates an answer in place from an event. Unknown events are ignored. */
export function apply(answer: Answer, { type, event }: TurnEvent): void {
  const e = event as Body;
  switch (type) {
    case "stage_started":
      answer.stages.push({
        stage: e.stage ?? "", agent: e.agent ?? "", status: "running", duration: 0, model: "", note: "", usage: noUsage, cost: null,
      });
      break;
    case "stage_finished":
      finishStage(answer, e);
      break;
    case "passages_retrieved":
      answer.found = e.small_talk ? -1 : (e.passages?.length ?? 0);
      break;
    case "prompt_built":
      answer.labels = e.labels ?? [];
      break;
    case "message_started":
      answer.text = "";
      answer.reasoning = "";
      answer.status = "streaming";
      break;
    case "completion_started":
      answer.model = e.model ?? "";
      break;
    case "text_delta":
      answer.text += e.text ?? "";
      break;
    case "reasoning_delta":
      answer.reasoning += e.text ?? "";
      break;
    case "message_finished":
      finishMessage(answer, e);
      break;
    case "follow_ups_suggested":
      answer.followUps = e.questions ?? [];
      break;
    case "turn_finished":
      answer.status = "completed";
      answer.duration = (e.duration ?? 0) / nanosecondsPerMs;
      answer.usage = usageOf(e.usage);
      break;
    case "error":
      answer.status = e.code === "conflict" ? "cancelled" : "failed";
      answer.error = answer.status === "failed" ? { kind: kindOf(500, "", e.code), message: e.message ?? "" } : null;
      break;
  }
}

function finishStage(answer: Answer, e: Body): void {
  const running = answer.stages.findLast((s) => s.stage === e.stage && s.status === "running");
  if (!running) return;
  running.status = "finished";
  running.duration = (e.duration ?? 0) / nanosecondsPerMs;
  running.model = e.model ?? "";
  running.note = e.note ?? "";
  running.usage = usageOf(e.usage);
}

function finishMessage(answer: Answer, e: Body): void {
  answer.text = e.text ?? answer.text;
  answer.model = e.model || answer.model;
  answer.doubts = e.doubts ?? [];
  answer.finish = e.finish_reason ?? "";
  const citations = e.citations ?? [];
  answer.citations = graded(citations.map((c, i) => ({
    n: i + 1, label: c.label, document_id: c.document_id, name: c.name, title: c.title, url: c.url, namespace: c.namespace ?? "", page: c.page,
    kind: "", start: 0, end: 0, quote: "", passage: c.snippet, content_url: "", stale: false, spans: [],
    supported: true, unplaced: true,
  })), answer.doubts);
}

/** complete returns an answer updated from the record of its turn, which has the places of citations, costs and thoughts. */
export function complete(answer: Answer, record: TurnRecord): Answer {
  const over = record.status !== "running";
  return {
    ...answer,
    status: over ? (record.status as AnswerStatus) : answer.status,
    text: record.answer || answer.text,
    reasoning: record.thoughts?.reasoning || answer.reasoning,
    model: record.model || answer.model,
    citations: graded(record.citations, record.unsupported),
    doubts: record.unsupported,
    followUps: record.follow_ups.length ? record.follow_ups : answer.followUps,
    stages: record.stages.length ? record.stages : answer.stages,
    calls: record.calls,
    usage: record.usage,
    cost: record.cost,
    duration: record.duration || answer.duration,
    error: answer.error ?? (record.status === "failed" && record.error ? { kind: kindOf(500, "", record.error.code), message: record.error.message } : null),
    record,
  };
}

/** Returns the labels that are drawn as chips: those of the citations, and those that the text may cite but has no citation for yet. */
export function labelsOf(answer: Answer): ReadonlySet<string> {
  return new Set([...answer.citations.map((c) => c.label), ...answer.labels]);
}

/**
 * isLoud reports whether a doubt deserves a warning: a page that was not retrieved, a number that is not on the page,
 * or the verdict of a judge. A sentence that merely uses other words than its page may well be a fair paraphrase.
 */
export const isLoud = (d: Doubt): boolean => d.kind === "invented" || d.reason !== "words";

/** graded returns citations with `supported` and `reworded` set from the doubts. */
export function graded(citations: Citation[], doubts: Doubt[]): Citation[] {
  const has = (c: Citation, loud: boolean) => doubts.some((d) => d.kind === "unsupported" && d.label === c.label && isLoud(d) === loud);
  return citations.map((c) => ({ ...c, supported: !has(c, true), ...(has(c, false) ? { reworded: true } : {}) }));
}
