// What is done to many documents at once, and to collections.
import { api } from "./api.ts";
import { toApiError } from "./calls.ts";
import * as app from "./app.ts";
import { Cell } from "./cell.ts";
import { changed, reindex } from "./jobs.ts";
import { choices } from "./settings.ts";
import { strings } from "./strings.ts";
import type { Wanted } from "./types.ts";

const s = strings.library;

/** What the list of documents is confined to: names or titles that hold a text, and attributes. */
export interface Search {
  namespace: string;
  q: string;
  filter: Wanted[];
}

/** The search of the list, which is there again when one comes back from a document. It belongs to one collection. */
export const search = new Cell<Search>({ namespace: "", q: "", filter: [] });

/** The condition on attributes as the server reads it; "" for none. */
export function conditionOf(filter: Wanted[]): string {
  const filters = filter.map(({ key, value }) => ({ type: "eq", key, value }));
  if (filters.length === 0) return "";
  return JSON.stringify(filters.length === 1 ? filters[0] : { type: "and", filters });
}

/** What is at work on many documents, or null. */
export const bulk = new Cell<{ done: number; all: number } | null>(null);

/** RightsOf is what the dialog about a collection or a document is about. */
export type RightsOf = { kind: "document"; namespace: string; name: string; title: string } | { kind: "folders" | "members" | "instructions"; namespace: string };

/** What the dialog about rights shows, or null when it is closed. */
export const rights = new Cell<RightsOf | null>(null);

const longest = 128; // bytes of a name

/** Begins a collection and chooses it. It is on the server once it has a document. False when it cannot have the name. */
export function makeCollection(name: string): boolean {
  const clean = name.trim();
  if (!clean || new TextEncoder().encode(clean).length > longest || /[\p{Cc}\u{10FFFF}]/u.test(clean)) return false;
  if (app.namespaces.value.some((n) => n.name === clean)) return false;
  app.addCollection(clean);
  choices.value = { ...choices.value, namespace: clean };
  return true;
}

/** What requests name a collection by: "" for the server's own. */
export const collectionOf = (name: string): string => (app.namespaces.value.find((n) => n.name === name)?.default ? "" : name);

/** Does something to each of some documents, one after the other, and says what came of it. Returns those with which it failed. */
async function each(ids: string[], act: (id: string) => Promise<unknown>, said: (n: number) => string): Promise<string[]> {
  const failed: string[] = [];
  let why = "";
  bulk.value = { done: 0, all: ids.length };
  for (const [at, id] of ids.entries()) {
    try {
      await act(id);
    } catch (error) {
      const { kind, message } = toApiError(error);
      if (kind !== "missing") {
        failed.push(id);
        why ||= message;
      }
    }
    bulk.value = { done: at + 1, all: ids.length };
  }
  bulk.value = null;
  if (failed.length > 0) app.tell(s.failed(failed.length, why), true);
  else app.tell(said(ids.length));
  changed.value++;
  return failed;
}

export const deleteMany = (namespace: string, ids: string[]): Promise<string[]> =>
  each(ids, (id) => api.deleteDocument(namespace, id), s.removed);

export const readMany = (namespace: string, ids: string[]): Promise<string[]> =>
  each(ids, (id) => reindex(namespace, id), s.rereading);

/** Deletes every document of a collection that the caller sees. */
export async function deleteAll(namespace: string): Promise<void> {
  const ids: string[] = [];
  try {
    for (let after = "", more = true; more; more = after !== "") {
      const page = await api.documents(namespace, "", { after });
      ids.push(...page.documents.map((d) => d.id));
      after = page.next;
    }
  } catch (error) {
    app.tell(toApiError(error).message, true);
    return;
  }
  await deleteMany(namespace, ids);
}
