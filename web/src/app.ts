// The state of the page and the actions that change it. Components only show cells and call these functions.
import { api, longestPage, type Caller, type Page } from "./api.ts";
import { ApiError, toApiError } from "./calls.ts";
import { Cell, saved } from "./cell.ts";
import * as chatlist from "./chatlist.ts";
import { loadChats, tellOtherTabs } from "./chatlist.ts";
import { ancestorsOf, emptyConversation, historyOf, namesParent, newId, pathOf, restored, stored, upsert, withEarlier, type Conversation, type Message } from "./conversation.ts";
import { beginEdit, draft, endEdit, nameDraft, openDraft } from "./drafts.ts";
import { changed } from "./jobs.ts";
import { LiveTurn, type Pending } from "./live.ts";
import { announcement, tell } from "./notices.ts";
import { afterPanel, panel, watchPanel } from "./panelstate.ts";
import { reachable } from "./reach.ts";
import { ragchatRequest } from "./requests.ts";
import { maxHistory } from "./said.ts";
import { scope } from "./scope.ts";
import { choices, recordOf, setChoice, settings } from "./settings.ts";
import { newAnswer, isOver, type Answer, type Feedback } from "./turnstate.ts";
import type { ChatEntry, NamespaceRecord, ServerConfig } from "./types.ts";
import { strings } from "./strings.ts";

export type View = { name: "chat"; id: string } | { name: "documents"; id: string; page?: number; namespace?: string } | { name: "shared"; id: string } | { name: "settings" } | { name: "evaluation" } | { name: "admin" };

export { chats, folders, pin } from "./chatlist.ts";
export { announcement, tell, toast } from "./notices.ts";
export { closePanel, panel } from "./panelstate.ts";
export { draft } from "./drafts.ts";
export { reachable } from "./reach.ts";

export const view = new Cell<View>(viewOf(location.hash));
export const overlay = new Cell<"" | "palette" | "prompts" | "request" | "shortcuts">("");
export const sharing = new Cell<ChatEntry | null>(null); // the conversation whose link is shown
export const filing = new Cell<ChatEntry | "new" | null>(null); // the conversation to move to a folder, or "new" while a folder is being created
export const drawer = new Cell(false); // the list of conversations on narrow screens
export const online = new Cell(navigator.onLine);
export const me = new Cell<Caller | null>(null); // null until the server has answered
export const config = new Cell<ServerConfig | null>(null);
export const configError = new Cell<ApiError | null>(null);
export const namespaces = new Cell<NamespaceRecord[]>([]);
export const conversation = new Cell<Conversation>(emptyConversation());
export const loading = new Cell<"" | "loading" | "missing" | "failed">("");
export const busy = new Cell(false); // an answer in this conversation is in progress
export const editing = new Cell<Message | null>(null); // the question that is being edited
export const theme = saved<"" | "light" | "dark">("parley.theme", "", (v): v is "" | "light" | "dark" => v === "" || v === "light" || v === "dark");

export const queued = new Cell(""); // the question to ask when the answer in progress is over

conversation.watch(() => {
  const before = busy.value;
  busy.value = isBusy(conversation.value);
  if (before && !busy.value) askQueued();
});

/** The answers in progress, by message id. */
const lives = new Map<string, LiveTurn>();

// ---- Where we are -------------------------------------------------------------------------------

export function viewOf(hash: string): View {
  const [, name = "", id = "", page = "", namespace = ""] = hash.replace(/^#/, "").split("/");
  if (name === "documents") return { name, id: decode(id), page: page ? Number(page) || 0 : undefined, namespace: decode(namespace) };
  if (name === "settings" || name === "evaluation" || name === "admin") return { name };
  return { name: name === "shared" ? name : "chat", id: decode(id) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export function hrefOf(v: View): string {
  if (v.name === "settings" || v.name === "evaluation" || v.name === "admin") return `#/${v.name}`;
  const parts = [v.id, ...(v.name === "documents" && v.page !== undefined ? [String(v.page), v.namespace ?? ""] : [])];
  while (parts.at(-1) === "") parts.pop();
  return [`#/${v.name}`, ...parts.map(encodeURIComponent)].join("/");
}

export function go(v: View): void {
  afterPanel(() => {
    if (location.hash !== hrefOf(v)) location.hash = hrefOf(v);
  });
}

export function start(): void {
  watchPanel();
  watchServer();
  chatlist.watchChats(renewIfShown);
  changed.watch(() => void refreshDocuments());
  addEventListener("hashchange", () => void arrive(viewOf(location.hash)));
  addEventListener("online", () => {
    online.value = true;
    void refresh();
    settleUnsaved();
  });
  addEventListener("offline", () => (online.value = false));
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void refresh();
  });
  void refresh().then(() => arrive(view.value));
}

const serverPause = 3000; // ms

/** Polls the server while it cannot be reached and the page is visible. */
function watchServer(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = () => {
    clearTimeout(timer);
    if (reachable.value) return;
    timer = setTimeout(() => {
      if (document.visibilityState === "visible") void refresh().then(again);
      else again();
    }, serverPause);
  };
  reachable.watch(() => {
    if (reachable.value) void settleUnsaved();
    again();
  });
}

function settleUnsaved(): void {
  if (unsaved.size > 0) saving = saving.then(() => store(conversation.value.id));
}

async function arrive(v: View): Promise<void> {
  view.value = v;
  drawer.value = false;
  if (editing.value) cancelEdit();
  if (v.name === "chat" && (v.id !== conversation.value.id || loading.value)) await open(v.id);
  if (v.name !== "chat" && panel.value?.kind !== "document") panel.value = null;
}

/** Loads the configuration, the conversations and the collections. Failures are ignored. */
export async function refresh(): Promise<void> {
  await Promise.allSettled([loadConfig(), loadChats(), loadNamespaces()]);
}

async function loadConfig(): Promise<void> {
  try {
    const before = config.value;
    const now = await api.config();
    config.value = now;
    configError.value = null;
    if (before?.ingestion.running && (!now.ingestion.running || before.documents === 0 && now.documents > 0)) changed.value++; // reload lists
    if (now.ingestion.running) watchIngestion();
  } catch (error) {
    configError.value = toApiError(error);
    throw error;
  }
}

const ingestionPause = 1000; // ms
let watching: ReturnType<typeof setTimeout> | undefined;

/** Polls while the server ingests documents and the page is visible. */
function watchIngestion(): void {
  clearTimeout(watching);
  watching = setTimeout(() => {
    if (document.visibilityState === "visible") void refreshDocuments();
  }, ingestionPause);
}

async function refreshDocuments(): Promise<void> {
  const [c] = await Promise.allSettled([loadConfig(), loadNamespaces()]);
  if (c.status === "rejected") watchIngestion();
}

const isNames = (v: unknown): v is string[] => Array.isArray(v) && v.every((x) => typeof x === "string");

/** Names of collections that were created in this browser and have no document yet. */
const begun = saved<string[]>("parley.collections", [], isNames);

async function loadNamespaces(): Promise<void> {
  showNamespaces(await api.namespaces());
  const { namespace } = choices.value;
  if (namespace && !namespaces.value.some((n) => n.name === namespace)) choices.value = { ...choices.value, namespace: "" };
}

function showNamespaces(list: NamespaceRecord[]): void {
  const waiting = begun.value.filter((name) => !list.some((n) => n.name === name));
  if (waiting.length < begun.value.length) begun.value = waiting;
  namespaces.value = [...list, ...waiting.map((name) => ({ name, documents: 0, chunks: 0, default: false }))];
}

/** Creates a collection in this browser; the server learns of it with its first document. */
export function addCollection(name: string): void {
  begun.value = [...begun.value, name];
  showNamespaces(namespaces.value.filter((n) => n.name !== name));
}

/** Whether a collection has no document yet, and is therefore unknown to the server. */
export const isBegun = (name: string): boolean => begun.value.includes(name);

// ---- Conversations ------------------------------------------------------------------------------

export function begin(): void {
  panel.value = null;
  if (view.value.name === "chat" && view.value.id === "") void open("");
  go({ name: "chat", id: "" });
  drawer.value = false;
  focusComposer();
}

export function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>("#question")?.focus());
}

async function open(id: string): Promise<void> {
  for (const live of lives.values()) live.leave();
  lives.clear();
  unsaved.clear();
  panel.value = null;
  if (queued.value) draft.value = [queued.value, draft.value].filter(Boolean).join("\n"); // the queued question returns to the draft of its conversation
  queued.value = "";
  conversation.value = emptyConversation();
  openDraft(id);
  if (id === "") {
    loading.value = "";
    return;
  }
  loading.value = "loading";
  try {
    const read = await readConversation(id, pageLength);
    if (view.value.name === "chat" && view.value.id !== id) return; // another conversation was opened meanwhile
    conversation.value = { ...emptyConversation(), ...read };
    loading.value = "";
    resume();
  } catch (error) {
    loading.value = toApiError(error).kind === "missing" ? "missing" : "failed";
  }
}

const pageLength = 100; // messages of a conversation that are loaded at a time

/**
 * Loads a part of a conversation, extended until its first message names its parent: without a parent, that message
 * would lose its place when it is stored again.
 */
async function readPart(asked: Promise<Page<unknown>>): Promise<Page<unknown>> {
  let { items, next } = await asked;
  while (next && !namesParent(items[0])) {
    const before = await api.messagePage(longest(next));
    items = [...before.items, ...items];
    next = before.next;
  }
  return { items, next };
}

/** Loads the last `length` messages of a conversation. */
async function readConversation(id: string, length: number): Promise<Pick<Conversation, "id" | "title" | "messages" | "earlier">> {
  const [{ items, next }, entry] = await Promise.all([readPart(api.lastMessages(id, length)), chatlist.entryOf(id)]);
  return { id, title: entry.title, messages: restored(items), earlier: next ? { link: next, count: Math.max(1, entry.messageCount - items.length) } : null };
}

let reading: Promise<unknown> = Promise.resolve(); // parts are loaded one after the other

/** Loads the part before the loaded messages of a conversation, even if another conversation is opened meanwhile. */
function readEarlier(of: Conversation, length = pageLength): Promise<Conversation> {
  const read = reading.then(async () => {
    const c = conversation.value.id === of.id ? conversation.value : of; // an earlier call may have loaded a part meanwhile
    if (!c.earlier) return c;
    const { link } = c.earlier;
    const { items, next } = await readPart(api.messagePage(length > pageLength ? longest(link) : link));
    const part = restored(items);
    const shown = conversation.value;
    if (shown.id !== c.id || shown.earlier?.link !== link) return withEarlier(c, part, next);
    showEarlier(part, next);
    return conversation.value;
  });
  reading = read.catch(() => {});
  return read;
}

const longest = (link: string): string => link.replace(/\blimit=\d+/, `limit=${longestPage}`);

/** Loads all messages of a conversation. */
async function readAll(of: Conversation): Promise<Conversation> {
  let c = of;
  while (c.earlier) c = await readEarlier(c, longestPage);
  return c;
}

/** Loads as much of the conversation as is sent as the history of a question. */
async function withHistory(of: Conversation, question: Message): Promise<Conversation> {
  let c = of;
  while (c.earlier && historyOf(ancestorsOf(c, question)).length < maxHistory) c = await readEarlier(c);
  return c;
}

function showEarlier(part: Message[], next: string): void {
  conversation.value = withEarlier(conversation.value, part, next);
  takeUp(part);
}

let loadingFrom = ""; // the address of the part that is being loaded
let failedFrom = ""; // the address of the part that failed to load

/** Loads the part before the loaded messages; returns false if it loaded nothing. `asked`: the user asked for it, so try again after a failure. */
export async function loadEarlier(asked = false): Promise<boolean> {
  const c = conversation.value;
  const link = c.earlier?.link ?? "";
  if (!link || loadingFrom === link || (failedFrom === link && !asked)) return false;
  loadingFrom = link;
  try {
    await readEarlier(c);
    return true;
  } catch (error) {
    failedFrom = link;
    if (conversation.value.id === c.id) tell(toApiError(error).message, true);
    return false;
  } finally {
    if (loadingFrom === link) loadingFrom = "";
  }
}

/** Loads the rest of the conversation. Failures are ignored. */
export const loadRest = (): void => void readAll(conversation.value).catch(() => {});

/** Loads the history that is sent with the newest question. Failures are ignored. */
export function loadHistory(): void {
  const question = pathOf(conversation.value).findLast((p) => p.message.role === "user")?.message;
  if (question) void withHistory(conversation.value, question).catch(() => {});
}

/** Like loadRest, but synchronous: the browser prints as soon as the handler of beforeprint returns. */
export function loadRestNow(): void {
  try {
    for (let { earlier } = conversation.value; earlier; { earlier } = conversation.value) {
      const { items, next } = api.messagePageNow(longest(earlier.link));
      showEarlier(restored(items), next);
    }
  } catch (error) {
    tell(toApiError(error).message, true); // the loaded messages are printed
  }
}

export const reopen = () => open(view.value.name === "chat" ? view.value.id : "");

/** Continues to follow the answers that were unfinished when the page was left. */
function takeUp(messages: Message[]): void {
  for (const message of messages) {
    if (!message.answer || isOver(message.answer)) continue;
    const live = follow(message, newAnswer());
    const asked = pendingOf(message.id);
    if (message.answer.turn) void live.resume(message.answer.turn);
    else if (asked) void live.ask(asked);
    else settle(message.id, { ...message.answer, status: "failed", error: { kind: "failed", message: strings.errors.lost } });
  }
}

/** Resumes everything that was unfinished when the page was left. */
function resume(): void {
  const last = pathOf(conversation.value).at(-1)?.message;
  takeUp(conversation.value.messages);
  // The page was left after the question was stored, but before its answer was.
  if (last?.role === "user") {
    const id = `${last.id}-a`;
    const asked = pendingOf(id);
    if (asked) void follow(put({ id, parent: last.id, role: "assistant", text: "", answer: newAnswer(), created: now() }), newAnswer()).ask(asked);
  }
}

const now = () => new Date().toISOString();

function put(message: Message): Message {
  conversation.value = upsert(conversation.value, message);
  return message;
}

export async function rename(id: string, title: string): Promise<void> {
  const clean = title.trim();
  if (!clean) return;
  await chatlist.renameChat(id, clean);
  if (conversation.value.id === id) conversation.value = { ...conversation.value, title: clean };
}

/** Deletes a conversation. For a few seconds, the user can undo it. */
export function remove(entry: ChatEntry): void {
  const shown = conversation.value.id === entry.id;
  chatlist.remove(entry, () => shown && go({ name: "chat", id: entry.id }));
  if (shown) begin();
}

/** loadConversation loads a whole conversation without showing it, for export. */
export async function loadConversation(entry: ChatEntry): Promise<Conversation> {
  if (conversation.value.id === entry.id) return readAll(conversation.value);
  return { ...emptyConversation(), id: entry.id, title: entry.title, messages: restored(await api.chatMessages(entry.id)) };
}

export function choose(parent: string, id: string): void {
  conversation.value = { ...conversation.value, chosen: { ...conversation.value.chosen, [parent]: id } };
}

// ---- Asking -------------------------------------------------------------------------------------

export const isBusy = (c: Conversation): boolean => {
  const last = pathOf(c).at(-1)?.message;
  return last?.answer != null && !isOver(last.answer);
};

/** Asks a question at the end of the path that is shown, or a new version of the question that is being edited. */
export async function ask(text: string): Promise<void> {
  const question = text.trim();
  if (!question) return;
  if (isBusy(conversation.value)) {
    queued.value = question;
    draft.value = "";
    return;
  }
  const path = pathOf(conversation.value);
  const edited = editing.value;
  if (edited) cancelEdit();
  else draft.value = "";
  const parent = edited ? edited.parent : (path.at(-1)?.message.id ?? "");
  const message: Message = { id: newId(), parent, role: "user", text: question, answer: null, created: now() };
  put(message);
  choose(parent, message.id);
  await answer(message);
}

/** Asks the queued question. If the answer before it failed or was stopped, puts it back into the field instead: the user decides. */
function askQueued(): void {
  const last = pathOf(conversation.value).at(-1)?.message;
  const next = queued.value;
  if (!next || !last?.answer) return;
  if (last.answer.status !== "completed") return takeQueued();
  queued.value = "";
  queueMicrotask(() => void ask(next)); // after all watchers have seen the end of the answer
}

/** Puts the queued question back into the field. */
export function takeQueued(): void {
  if (queued.value) draft.value = [queued.value, draft.value].filter(Boolean).join("\n");
  queued.value = "";
  focusComposer();
}

/** Regenerates an answer, with another model if one is named. */
export async function retry(message: Message, model = ""): Promise<void> {
  const question = questionOf(message);
  if (question && !isBusy(conversation.value)) await answer(question, model);
}

/** Asks the model to continue an answer that was cut off by its length limit. */
export const continueAnswer = (message: Message): Promise<void> => ask(strings.chat.goOn(questionOf(message)?.text ?? ""));

/** Doubles the length limit of answers and regenerates the answer. */
export async function answerLonger(message: Message): Promise<void> {
  const setting = settings.find((x) => x.key === "max_output_tokens")!;
  const told = recordOf(setting, config.value);
  if (told) {
    const now = Number(choices.value.values[setting.key] ?? told.default ?? 0);
    setChoice(setting.key, Math.min(told.max, 2 * Math.max(now, 1000)));
  }
  await retry(message);
}

const questionOf = (message: Message): Message | undefined => conversation.value.messages.find((m) => m.id === message.parent);

async function answer(question: Message, model = ""): Promise<void> {
  const siblings = conversation.value.messages.some((m) => m.parent === question.id);
  const id = siblings ? newId() : `${question.id}-a`;
  const message = put({ id, parent: question.id, role: "assistant", text: "", answer: newAnswer(), created: now() });
  choose(question.id, id);
  announcement.value = strings.chat.working;
  const live = follow(message, newAnswer());
  const before = conversation.value;
  const kept = await keep(question);
  const set = model ? { ...choices.value, models: { ...choices.value.models, inference: model } } : choices.value;
  const documents = scope.value.map((d) => d.id);
  let pending: Pending | undefined; // built once: a retry with the same idempotency key must send the same request
  await live.ask(async () => {
    if (pending) return pending;
    const now = conversation.value;
    const c = await withHistory(now.messages.some((m) => m.id === question.id) ? now : before, question); // the user may have left the conversation
    const asked = { text: question.text, history: historyOf(ancestorsOf(c, question)), choices: set, conversation: c.id || undefined, documents };
    const request = ragchatRequest(asked, { stream: true, query_id: id });
    pending = { key: id, path: request.path, body: request.body };
    if (kept) remember(id, pending);
    return pending;
  });
}

let saving: Promise<unknown> = Promise.resolve();
const unsaved = new Set<string>(); // ids of messages whose current state is not on the server

/** Stores a message, after those whose storing has begun. Resolves to false if it could not be stored. */
function keep(message: Message): Promise<boolean> {
  unsaved.add(message.id);
  const { id } = conversation.value;
  const kept = saving.then(() => store(id));
  saving = kept;
  return kept;
}

/** Stores all unsaved messages; the first message of a new conversation creates it. */
async function store(of: string): Promise<boolean> {
  if (of && of !== conversation.value.id) return false; // the user left it meanwhile
  try {
    if (!conversation.value.id) {
      const made = await api.createChat();
      conversation.value = { ...conversation.value, id: made.id };
      nameDraft(made.id);
      view.value = { name: "chat", id: made.id };
      history.replaceState(history.state, "", hrefOf(view.value));
    }
    const { id, messages } = conversation.value;
    const sent = messages.filter((m) => unsaved.has(m.id));
    if (sent.length === 0) return true;
    for (const m of sent) unsaved.delete(m.id);
    try {
      await sendMessages(id, sent);
    } catch (error) {
      if (id === conversation.value.id) for (const m of sent) unsaved.add(m.id);
      throw error;
    }
    return true;
  } catch (error) {
    if (toApiError(error).kind !== "offline") tell(strings.errors.notStored, true);
    return false;
  }
}

async function sendMessages(id: string, messages: Message[]): Promise<void> {
  const entry = await api.putMessages(id, messages.map(stored));
  if (id === conversation.value.id) conversation.value = { ...conversation.value, title: entry.title };
  chatlist.showFirst(entry);
  tellOtherTabs(id);
}

function follow(message: Message, answer: Answer): LiveTurn {
  const live = new LiveTurn(answer, {
    named: (turn) => settle(message.id, { ...answer, turn }),
    changed: (next, over) => (over ? settle(message.id, next) : show(message.id, next)),
  });
  lives.set(message.id, live);
  return live;
}

function show(id: string, answer: Answer): Message | null {
  const message = conversation.value.messages.find((m) => m.id === id);
  if (!message) return null;
  if (message.answer) renewSource(message.answer, answer);
  return put({ ...message, answer });
}

/** Renews an open source when its answer has changed: the marks of a source are known only when the turn has ended. */
function renewSource(before: Answer, after: Answer): void {
  const open = panel.value;
  if (open?.kind !== "source" || !before.citations.includes(open.citation)) return;
  const citation = after.citations.find((c) => c.label === open.citation.label);
  if (citation && citation !== open.citation) panel.value = { ...open, citation };
}

/** Shows a state of an answer and stores it. */
function settle(id: string, answer: Answer): void {
  const message = show(id, answer);
  if (!message) return;
  void keep(message);
  if (!isOver(answer)) return;
  lives.delete(id);
  forget(id);
  announcement.value = answer.status === "completed" ? strings.chat.answered(answer.text.replace(/\[[^\]]*#page=\d+\]/g, "")) : strings.chat.ended(answer.status);
}

/** Stores the user's rating of an answer with the conversation; null removes it. */
export function rate(message: Message, feedback: Feedback | null): void {
  const now = conversation.value.messages.find((m) => m.id === message.id);
  if (now?.answer) void keep(put({ ...now, answer: { ...now.answer, feedback } }));
}

export function stop(): void {
  const last = pathOf(conversation.value).at(-1)?.message;
  if (last) lives.get(last.id)?.stop();
}

/** Puts an earlier question into the field, to be edited and asked again. */
export function edit(message: Message): void {
  editing.value = message;
  beginEdit(message.text);
  focusComposer();
}

export function cancelEdit(): void {
  editing.value = null;
  endEdit();
}

// ---- Other tabs -----------------------------------------------------------------------------------

function renewIfShown(id: string): void {
  if (id === conversation.value.id && lives.size === 0 && unsaved.size === 0) void renew(id);
}

/** Reloads the conversation that is shown. */
async function renew(id: string): Promise<void> {
  try {
    const read = await readConversation(id, Math.min(longestPage, Math.max(pageLength, conversation.value.messages.length)));
    const { messages, earlier } = conversation.value;
    if (conversation.value.id !== id || lives.size > 0) return;
    const again = { ...conversation.value, ...read };
    const before = messages.findIndex((m) => m.id === read.messages[0]?.id);
    conversation.value = read.earlier && before > 0 ? { ...withEarlier(again, messages.slice(0, before), ""), earlier } : again;
    resume();
  } catch (error) {
    if (toApiError(error).kind === "missing" && conversation.value.id === id) begin();
  }
}

// ---- Requests that must survive a reload before the server has named their turn -------------------

const pendingKey = (id: string) => `parley.pending.${id}`;

function remember(id: string, pending: Pending): void {
  try {
    localStorage.setItem(pendingKey(id), JSON.stringify(pending));
  } catch {
    // Without storage, a reload before the turn is named loses the answer.
  }
}

function forget(id: string): void {
  try {
    localStorage.removeItem(pendingKey(id));
  } catch {
    // There is no storage.
  }
}

function pendingOf(id: string): Pending | null {
  try {
    const p: unknown = JSON.parse(localStorage.getItem(pendingKey(id)) ?? "null");
    if (typeof p !== "object" || p === null) return null;
    const { key, path, body } = p as Partial<Pending>;
    return typeof key === "string" && path === "/p/ragchat/chat" && body ? { key, path, body } : null;
  } catch {
    return null;
  }
}
