// The endpoints of the server that the page uses. Nothing here depends on the page.
import { ApiError, json, patience, send, toApiError, turnPath } from "./calls.ts";
import type { AttributeRecord, ChatEntry, ChatLink, SharedChat, ChunkList, Box, DocumentList, DocumentRecord, Folder, FoundChat, ModelRecord, NamespaceRecord, PageRecord, Prompt, ServerConfig, TurnRecord } from "./types.ts";

const tries = 5;
const shortest = 500; // ms between two tries

/** patiently repeats a request that a busy server refused (503), up to `tries` times. */
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

/** Caller is the person or program that sends the requests, as the server identifies it. */
export interface Caller {
  subject: string;
  name: string;
  role: "reader" | "editor" | "administrator" | null;
  session: boolean; // true if the caller can sign out
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

export const longestPage = 500; // items: conversations, or messages of one conversation

/** Page is a part of a list and the address of the next part, "" if there is none. */
export interface Page<T> {
  items: T[];
  next: string;
}

async function paged<T>(path: string): Promise<Page<T>> {
  const response = await send(path, { signal: AbortSignal.timeout(patience) });
  return { items: (await response.json()) as T[], next: nextOf(response.headers.get("Link")) };
}

const nextOf = (link: string | null): string => /<([^>]+)>; rel="next"/.exec(link ?? "")?.[1] ?? "";

/** The calls for a list of short texts that the server keeps for the caller, such as folders and prompts. */
const kept = <T extends { id: string }>(path: string) => ({
  list: () => json<T[]>(path),
  add: (thing: Omit<T, "id">) => json<T>(path, withBody("POST", thing)),
  change: ({ id, ...thing }: T) => json<T>(`${path}/${segment(id)}`, withBody("PUT", thing)),
  remove: (id: string) => json<unknown>(`${path}/${segment(id)}`, { method: "DELETE" }),
});

export const api = {
  folders: kept<Folder>("/api/folders"),
  prompts: kept<Prompt>("/api/prompts"),

  me: () => json<Caller>("/api/me"),
  signOut: async () => (await json<{ location: string }>("/sign-out", { method: "POST" })).location,
  config: () => json<ServerConfig>("/api/ui/config"),
  namespaces: () => json<NamespaceRecord[]>("/api/namespaces"),
  models: async () => {
    const models = await json<Record<string, ModelRecord>>("/api/models");
    return Object.values(models).filter((m) => m.endpoint === "chat");
  },
  turn: (id: string) => json<TurnRecord>(turnPath(id)),

  documents: (namespace: string, q: string, { after = "", filter = "", limit = 100 } = {}) =>
    json<DocumentList>(`/api/documents${query({ namespace, q, filter, after, limit })}`),
  attributes: (namespace: string, q: string, filter: string) =>
    json<{ attributes: AttributeRecord[] }>(`/api/attributes${query({ namespace, q, filter })}`),
  document: (namespace: string, id: string) => json<DocumentRecord>(`/api/documents/${segment(id)}${query({ namespace })}`),
  chunks: (namespace: string, id: string, after?: number, limit = 50) =>
    json<ChunkList>(`/api/documents/${segment(id)}/chunks${query({ namespace, after, limit })}`),
  /** Returns the first chunks of a document without their texts. */
  outline: (namespace: string, id: string, limit: number) =>
    json<ChunkList>(`/api/documents/${segment(id)}/chunks${query({ namespace, limit, text: "false" })}`),
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

  chat: (id: string) => json<ChatEntry>(`/api/chat-history/${segment(id)}`),
  allChats: () => json<ChatEntry[]>("/api/chat-history?mode=standard"),
  chatPage: (path: string) => paged<ChatEntry>(path),
  createChat: () => json<ChatEntry>("/api/chat-history", withBody("POST", { mode: "standard" })), // titled by its first message
  messagePage: (path: string) => paged<unknown>(path),
  /** Like messagePage, but synchronous: it blocks the page. Printing needs it. */
  messagePageNow: (path: string): { items: unknown[]; next: string } => {
    const request = new XMLHttpRequest();
    request.open("GET", path, false);
    request.send();
    if (request.status !== 200) throw new ApiError("failed", request.responseText.slice(0, 200), request.status);
    return { items: JSON.parse(request.responseText) as unknown[], next: nextOf(request.getResponseHeader("Link")) };
  },
  lastMessages: (id: string, limit: number) => paged<unknown>(`/api/chat-history/${segment(id)}/messages${query({ limit })}`),
  chatMessages: (id: string) => json<unknown[]>(`/api/chat-history/${segment(id)}/messages`),
  putMessages: (id: string, messages: unknown[]) =>
    json<ChatEntry>(`/api/chat-history/${segment(id)}/messages`, withBody("PUT", { messages })),
  renameChat: (id: string, title: string) => json<ChatEntry>(`/api/chat-history/${segment(id)}`, withBody("PUT", { title })),
  pinChat: (id: string, pinned: boolean) => json<ChatEntry>(`/api/chat-history/${segment(id)}`, withBody("PUT", { pinned })),
  fileChat: (id: string, folder: string) => json<ChatEntry>(`/api/chat-history/${segment(id)}`, withBody("PUT", { folder })),
  chatLink: (id: string) => json<ChatLink>(`/api/chats/${segment(id)}/link`),
  changeLink: (id: string, method: "PUT" | "DELETE") => json<ChatLink>(`/api/chats/${segment(id)}/link`, { method }),
  shared: (link: string) => json<SharedChat>(`/api/shared/${segment(link)}`),
  searchChats: (q: string, signal: AbortSignal) => json<FoundChat[]>(`/api/chat-history/search${query({ q, mode: "standard" })}`, { signal }),
  /** `leaving` says that the page is being closed: the request then outlives it. */
  deleteChat: (id: string, leaving = false) => json<unknown>(`/api/chat-history/${segment(id)}`, { method: "DELETE", keepalive: leaving }),
};
