// Calls of the server. Nothing here knows of the page.
import type { ChatEntry, ChatLink, SharedChat, ChunkList, Box, DocumentList, DocumentRecord, FoundChat, ModelRecord, NamespaceRecord, PageRecord, ServerConfig, TurnRecord } from "./types.ts";
import { reach } from "./reach.ts";
import { strings } from "./strings.ts";

/** Why a request did not succeed, as far as the page tells people different things. */
export type FailureKind =
  | "offline" | "busy" | "budget" | "key" | "provider" | "missing" | "invalid" | "failed"
  | "refusedKey" | "noCredit" | "noModel" | "limited" | "unreachable" | "slow" | "tooLong" | "filtered";

/** ApiError is a request that the server refused, or that did not reach it. */
export class ApiError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly status = 0,
    readonly retryAfter = 0, // seconds
  ) {
    super(message);
  }
}

/** How long an ordinary request may take before the server counts as out of reach. */
const patience = 30_000;

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("offline", strings.errors.offline);
}

/** send makes a request, whose answer must be a success. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await reach(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("offline", strings.errors.offline);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function json<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await send(path, { signal: AbortSignal.timeout(patience), ...init });
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError("offline", strings.errors.offline, response.status);
  }
}

const tries = 5;
const shortest = 500; // ms between two of them

/** patiently repeats a request that a busy server refused (503), as often as is worth waiting for. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await ask();
    } catch (error) {
      const { status, retryAfter } = toApiError(error);
      if (status !== 503 || n >= tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.max(shortest, Math.min(retryAfter, 5) * 1000)));
    }
  }
}

const withBody = (method: string, body: unknown): RequestInit => ({
  method,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

/** refusal reads an error in whatever shape the protocols of the server have. */
export async function refusal(response: Response): Promise<ApiError> {
  let sentence = "";
  let code = "";
  try {
    const body: unknown = await response.json();
    sentence = sentenceOf(body);
    code = codeOf(body);
  } catch {
    // No JSON: a proxy answered, or the connection broke.
  }
  const retryAfter = retrySeconds(response.headers.get("Retry-After"));
  return new ApiError(kindOf(response.status, sentence, code), sentence || strings.errors.status(response.status), response.status, retryAfter);
}

export function sentenceOf(body: unknown): string {
  if (typeof body !== "object" || body === null) return "";
  const { error, message, detail } = body as Record<string, unknown>;
  for (const candidate of [error, detail, message]) {
    if (typeof candidate === "string" && candidate) return candidate;
    if (typeof candidate === "object" && candidate !== null) {
      const inner = (candidate as Record<string, unknown>)["message"];
      if (typeof inner === "string" && inner) return inner;
    }
  }
  return "";
}

/** codeOf returns the code of an error in whatever shape the protocols have, "" where it has none. */
export function codeOf(body: unknown): string {
  const error = typeof body === "object" && body !== null ? (body as Record<string, unknown>)["error"] : null;
  const code = typeof error === "object" && error !== null ? (error as Record<string, unknown>)["code"] : "";
  return typeof code === "string" ? code.toLowerCase() : "";
}

/** What the codes of the server say of a model's provider. */
const kindsByCode: Record<string, FailureKind> = {
  provider_key_refused: "refusedKey",
  provider_no_credit: "noCredit",
  provider_model_not_found: "noModel",
  provider_rate_limited: "limited",
  provider_unreachable: "unreachable",
  provider_timeout: "slow",
  context_length_exceeded: "tooLong",
  content_filter: "filtered",
};

export function kindOf(status: number, sentence: string, code = ""): FailureKind {
  const known = kindsByCode[code];
  if (known) return known;
  switch (status) {
    case 404:
      return "missing";
    case 429:
      return /budget/i.test(sentence) ? "budget" : "busy";
    case 401:
    case 403:
      return "key";
    case 400:
    case 413:
    case 415:
    case 422:
      return /\bkey\b|not configured|no provider/i.test(sentence) ? "key" : "invalid";
    case 500:
    case 502:
    case 503:
    case 504:
      return "provider";
    default:
      return "failed";
  }
}

function retrySeconds(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** Caller is who asks, as the server knows them. */
export interface Caller {
  subject: string;
  name: string;
  role: "reader" | "editor" | "administrator" | null;
  session: boolean; // one can sign out
  can_sign_in: boolean;
}

const query = (values: Record<string, string | number | undefined>): string => {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") all.append(name, String(value));
  }
  const text = all.toString();
  return text && `?${text}`;
};

const segment = encodeURIComponent;

export const api = {
  me: () => json<Caller>("/api/me"),
  signOut: async () => (await json<{ location: string }>("/sign-out", { method: "POST" })).location,
  config: () => json<ServerConfig>("/api/ui/config"),
  namespaces: () => json<NamespaceRecord[]>("/api/namespaces"),
  models: async () => {
    const models = await json<Record<string, ModelRecord>>("/api/models");
    return Object.values(models).filter((m) => m.endpoint === "chat");
  },
  turn: (id: string) => json<TurnRecord>(`/api/turns/${segment(id)}`),
  stopTurn: (id: string) => send(`/api/turns/${segment(id)}`, { method: "DELETE" }),

  documents: (namespace: string, q: string, after = "") =>
    json<DocumentList>(`/api/documents${query({ namespace, q, after, limit: 100 })}`),
  document: (namespace: string, id: string) => json<DocumentRecord>(`/api/documents/${segment(id)}${query({ namespace })}`),
  chunks: (namespace: string, id: string, after?: number, limit = 50) =>
    json<ChunkList>(`/api/documents/${segment(id)}/chunks${query({ namespace, after, limit })}`),
  deleteDocument: (namespace: string, id: string) =>
    json<{ message: string; returns: boolean }>(`/api/documents/${segment(id)}${query({ namespace })}`, { method: "DELETE" }),
  reindex: (namespace: string, id: string) =>
    json<{ job_id: string }>(`/api/documents/${segment(id)}/reindex${query({ namespace })}`, { method: "POST" }),
  page: (namespace: string, id: string, n: number) =>
    patiently(() => json<PageRecord>(`/api/documents/${segment(id)}/pages/${n}${query({ namespace })}`)),
  boxes: async (namespace: string, id: string, n: number, ranges: { start: number; end: number }[]) => {
    const pairs = ranges.slice(0, 50).map((r) => `&start=${r.start}&end=${r.end}`).join("");
    const path = `/api/documents/${segment(id)}/pages/${n}/boxes?namespace=${segment(namespace)}${pairs}`;
    return (await patiently(() => json<{ boxes: Box[] }>(path))).boxes;
  },

  chats: () => json<ChatEntry[]>("/api/chat-history"),
  createChat: () => json<ChatEntry>("/api/chat-history", withBody("POST", { mode: "standard" })), // titled by its first message
  chatMessages: (id: string) => json<unknown[]>(`/api/chat-history/${segment(id)}/messages`),
  putMessages: (id: string, messages: unknown[]) =>
    json<ChatEntry>(`/api/chat-history/${segment(id)}/messages`, withBody("PUT", { messages })),
  renameChat: (id: string, title: string) => json<ChatEntry>(`/api/chat-history/${segment(id)}`, withBody("PUT", { title })),
  pinChat: (id: string, pinned: boolean) => json<ChatEntry>(`/api/chat-history/${segment(id)}`, withBody("PUT", { pinned })),
  chatLink: (id: string) => json<ChatLink>(`/api/chats/${segment(id)}/link`),
  changeLink: (id: string, method: "PUT" | "DELETE") => json<ChatLink>(`/api/chats/${segment(id)}/link`, { method }),
  shared: (link: string) => json<SharedChat>(`/api/shared/${segment(link)}`),
  searchChats: (q: string, signal: AbortSignal) => json<FoundChat[]>(`/api/chat-history/search${query({ q, mode: "standard" })}`, { signal }),
  /** `leaving`: the page is being closed. */
  deleteChat: (id: string, leaving = false) => json<unknown>(`/api/chat-history/${segment(id)}`, { method: "DELETE", keepalive: leaving }),
};
