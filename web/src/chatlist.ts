// The list of conversations and folders: loading, renaming, pinning, moving and deleting, kept in step with the browser's other tabs.
import { api, longestPage } from "./api.ts";
import { toApiError } from "./calls.ts";
import { Cell, saved } from "./cell.ts";
import { dropDraft } from "./drafts.ts";
import { tell } from "./notices.ts";
import { strings } from "./strings.ts";
import type { ChatEntry, Folder } from "./types.ts";

/** The listed conversations, last changed first, including all that are pinned or in a folder; null until the server has answered. */
export const chats = new Cell<ChatEntry[] | null>(null);

/** The address of the next, older conversations; "" when all are listed. */
export const olderChats = new Cell("");

/** The folders, sorted by name. */
export const folders = new Cell<Folder[]>([]);

const byName = new Intl.Collator(undefined, { numeric: true });

const pageLength = 50; // conversations, not counting those that are pinned or in a folder

/** The newest load of the list; earlier loads that are still running are discarded. */
let reading: Promise<void> = Promise.resolve();

/** Loads the list again, as far down as it is shown. */
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

/** Loads the next, older conversations into the list. */
export async function loadOlderChats(): Promise<void> {
  if (!olderChats.value || loadingOlder) return;
  loadingOlder = true;
  try {
    let page, before;
    do {
      before = reading;
      await before.catch(() => {}); // the list then stays as it is
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

/** Returns a conversation's entry, from the server if it is not listed. */
export async function entryOf(id: string): Promise<ChatEntry> {
  return chats.value?.find((c) => c.id === id) ?? (await api.chat(id));
}

function show(list: ChatEntry[]): void {
  const listed = list.filter((c) => !doomed.has(c.id));
  chats.value = listed.sort((a, b) => Date.parse(b.lastUpdated) - Date.parse(a.lastUpdated));
}

/** Adds or updates a conversation in the list, which is sorted by time of change. */
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

/** The ids of the folders that are collapsed. */
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

/** Waits for a change to the folders and reloads the list; shows a notice if that fails. */
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

// ---- Deleting, with a time to undo it -------------------------------------------------------------

const undoTime = 10_000; // ms

/** The ids of conversations that are no longer listed and will be deleted, and their timers. */
const doomed = new Map<string, ReturnType<typeof setTimeout>>();

/** Removes a conversation from the list, and deletes it after undoTime. If the user undoes that, calls `undone` once the list is loaded. */
export function remove(entry: ChatEntry, undone: () => void): void {
  doomed.set(entry.id, setTimeout(() => void destroy(entry.id), undoTime));
  remember(Date.now() + undoTime, entry.id);
  show(chats.value ?? []);
  tell(strings.sidebar.removed(entry.title), false, {
    label: strings.undo,
    run: () => {
      clearTimeout(doomed.get(entry.id));
      if (!doomed.delete(entry.id)) return; // already deleted
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
  await loadChats().catch(() => {}); // the next load of the list tries again
}

// Pending deletions survive the page: they are sent when the user leaves it, and checked when the page is next loaded.
const prefix = "parley.deleted.";

function remember(due: number, id: string): void {
  try {
    localStorage.setItem(prefix + id, String(due));
  } catch {
    // Without storage, the requests are sent on leaving and not repeated.
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

/** Tells other tabs that the list has changed, and which conversation, if any. */
export function tellOtherTabs(id?: string): void {
  tabs?.postMessage({ changed: id });
}

/** Follows changes made in other tabs: reloads the list, and calls `changed` with the id of a changed conversation. Also finishes pending deletions. */
export function watchChats(changed: (id: string) => void): void {
  tabs?.addEventListener("message", (event: MessageEvent<{ changed?: unknown }>) => {
    void loadChats().catch(() => {}); // the next change, or the next visit to this tab, tries again
    if (typeof event.data.changed === "string") changed(event.data.changed);
  });
  addEventListener("pagehide", leave);
  finishDeleting();
}
