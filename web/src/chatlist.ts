// The list of conversations and its folders: read, named, pinned, filed and deleted, the same in every tab of the browser.
import { api, longestPage } from "./api.ts";
import { toApiError } from "./calls.ts";
import { Cell, saved } from "./cell.ts";
import { dropDraft } from "./drafts.ts";
import { tell } from "./notices.ts";
import { strings } from "./strings.ts";
import type { ChatEntry, Folder } from "./types.ts";

/** What is listed, the last changed first, and all that is pinned or in a folder; null until the server has answered. */
export const chats = new Cell<ChatEntry[] | null>(null);

/** The address of the conversations that changed before those; "" when all are listed. */
export const olderChats = new Cell("");

/** The folders, by name. */
export const folders = new Cell<Folder[]>([]);

const byName = new Intl.Collator(undefined, { numeric: true });

const pageLength = 50; // conversations, beside those that are pinned or in a folder

/** The last reading of the list as far as it is shown. */
let reading: Promise<void> = Promise.resolve();

/** Reads the list as far as it is shown. */
export function loadChats(): Promise<void> {
  const mine: Promise<void> = readShown(() => mine === reading);
  reading = mine;
  return mine;
}

async function readShown(isLast: () => boolean): Promise<void> {
  const wanted = chats.value?.length ?? 0;
  const [list, kept] = await Promise.all([readChats(wanted), api.folders.list()]);
  if (!isLast()) return;
  folders.value = kept.sort((a, b) => byName.compare(a.name, b.name));
  olderChats.value = list.next;
  show(list.items);
}

async function readChats(wanted: number): Promise<{ items: ChatEntry[]; next: string }> {
  const limit = Math.min(longestPage, Math.max(pageLength, wanted));
  const list = await api.chatPage(`/api/chat-history?mode=standard&limit=${limit}`);
  while (list.next && list.items.length < wanted) {
    const page = await api.chatPage(list.next);
    list.items.push(...page.items);
    list.next = page.next;
  }
  return list;
}

let loadingOlder = false;

/** Lists the conversations behind those that are listed. */
export async function loadOlderChats(): Promise<void> {
  if (!olderChats.value || loadingOlder) return;
  loadingOlder = true;
  try {
    let page, before;
    do {
      before = reading;
      await before.catch(() => {}); // what is listed then stays
      if (!olderChats.value) return;
      page = await api.chatPage(olderChats.value);
    } while (before !== reading);
    const known = new Set(chats.value?.map((c) => c.id));
    olderChats.value = page.next;
    show([...(chats.value ?? []), ...page.items.filter((c) => !known.has(c.id))]);
  } catch (error) {
    tell(toApiError(error).message, true);
  } finally {
    loadingOlder = false;
  }
}

/** A conversation as the list shows it, also one that is not listed. */
export async function entryOf(id: string): Promise<ChatEntry> {
  return chats.value?.find((c) => c.id === id) ?? (await api.chat(id));
}

function show(list: ChatEntry[]): void {
  const listed = list.filter((c) => !doomed.has(c.id));
  chats.value = listed.sort((a, b) => Date.parse(b.lastUpdated) - Date.parse(a.lastUpdated));
}

/** Puts a conversation that has changed at the top. */
export function showFirst(entry: ChatEntry): void {
  show([entry, ...(chats.value ?? []).filter((c) => c.id !== entry.id)]);
}

export async function renameChat(id: string, title: string): Promise<void> {
  await api.renameChat(id, title);
  tellOtherTabs(id);
  await loadChats();
}

export async function pin(entry: ChatEntry, pinned: boolean): Promise<void> {
  await api.pinChat(entry.id, pinned);
  tellOtherTabs(entry.id);
  await loadChats();
}

// ---- Folders --------------------------------------------------------------------------------------

const isIds = (v: unknown): v is string[] => Array.isArray(v) && v.every((x) => typeof x === "string");

/** The folders whose conversations are not listed. */
export const closedFolders = saved<string[]>("parley.closedFolders", [], isIds);

export function toggleFolder(id: string): void {
  const closed = closedFolders.value.filter((c) => folders.value.some((f) => f.id === c));
  closedFolders.value = closed.includes(id) ? closed.filter((c) => c !== id) : [...closed, id];
}

/** Moves a conversation to a folder; "" takes it out of its folder. */
export async function moveToFolder(entry: ChatEntry, folder: string): Promise<void> {
  closedFolders.value = closedFolders.value.filter((c) => c !== folder);
  await api.fileChat(entry.id, folder);
  await foldersChanged();
}

export async function addFolder(name: string): Promise<Folder> {
  const folder = await api.folders.add({ name });
  await foldersChanged();
  return folder;
}

/** Does something to the folders, and says so if it fails. */
export async function changeFolders(change: Promise<unknown>): Promise<void> {
  try {
    await change;
    await foldersChanged();
  } catch {
    tell(strings.folders.failed, true);
  }
}

async function foldersChanged(): Promise<void> {
  tellOtherTabs();
  await loadChats();
}

// ---- Deleting, which can be undone for a while ----------------------------------------------------

const undoTime = 10_000; // ms

/** Conversations that are not listed any more and will be deleted. */
const doomed = new Map<string, ReturnType<typeof setTimeout>>();

/** Takes a conversation from the list, and deletes it unless that is undone. */
export function remove(entry: ChatEntry, undone: () => void): void {
  doomed.set(entry.id, setTimeout(() => void destroy(entry.id), undoTime));
  remember(Date.now() + undoTime, entry.id);
  show(chats.value ?? []);
  tell(strings.sidebar.removed(entry.title), false, {
    label: strings.undo,
    run: () => {
      clearTimeout(doomed.get(entry.id));
      if (!doomed.delete(entry.id)) return; // it was too late
      forget(entry.id);
      void loadChats().then(undone, () => {});
    },
  });
}

async function destroy(id: string): Promise<void> {
  clearTimeout(doomed.get(id));
  try {
    await api.deleteChat(id).catch((error) => {
      if (toApiError(error).kind !== "missing") throw error;
    });
    dropDraft(id);
    forget(id);
    tellOtherTabs(id);
  } catch {
    tell(strings.sidebar.notRemoved, true);
  } finally {
    doomed.delete(id);
  }
  await loadChats().catch(() => {}); // the next look at the list tries again
}

// What is to be deleted outlives the page: when it is left the requests are sent, and the next page makes sure.
const prefix = "parley.deleted.";

function remember(due: number, id: string): void {
  try {
    localStorage.setItem(prefix + id, String(due));
  } catch {
    // Without storage, leaving the page is the last chance.
  }
}

function forget(id: string): void {
  try {
    localStorage.removeItem(prefix + id);
  } catch {
    // There is no storage.
  }
}

function leave(): void {
  for (const [id, timer] of doomed) {
    clearTimeout(timer);
    remember(0, id);
    void api.deleteChat(id, true).catch(() => {}); // the next page tries again
  }
}

function finishDeleting(): void {
  try {
    for (const key of Object.keys(localStorage)) {
      const id = key.slice(prefix.length);
      if (!key.startsWith(prefix) || doomed.has(id) || Number(localStorage.getItem(key)) > Date.now()) continue;
      doomed.set(id, setTimeout(() => void destroy(id), 0));
    }
  } catch {
    // There is no storage.
  }
}

// ---- Other tabs -----------------------------------------------------------------------------------

const tabs = "BroadcastChannel" in window ? new BroadcastChannel("parley") : null;

/** Says that a conversation has changed, or only the list. */
export function tellOtherTabs(id?: string): void {
  tabs?.postMessage({ changed: id });
}

/** Shows what other tabs of this browser change; `changed` is called with the id of a conversation. */
export function watchChats(changed: (id: string) => void): void {
  tabs?.addEventListener("message", (event: MessageEvent<{ changed?: unknown }>) => {
    void loadChats().catch(() => {}); // the next change, or the next look at this tab, tries again
    if (typeof event.data.changed === "string") changed(event.data.changed);
  });
  addEventListener("pagehide", leave);
  finishDeleting();
}
