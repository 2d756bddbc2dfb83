// Actions on several documents at once, and on collections.
import { api } from "./api.ts";
import { toApiError } from "./calls.ts";
import * as app from "./app.ts";
import { Cell } from "./cell.ts";
import { changed, reindex } from "./jobs.ts";
import { choices } from "./settings.ts";
import { strings } from "./strings.ts";
import type { Wanted } from "./types.ts";

const s = strings.library;

/** Search narrows the list of documents: to names or titles that contain `q`, and to attributes. */
export interface Search {
  namespace: string;
  q: string;
  filter: Wanted[];
}

/** The search of the list of documents, kept while a document is open. It applies to one collection. */
export const search = new Cell<Search>({ namespace: "", q: "", filter: [] });

/** Returns a filter as the JSON that the server expects; "" for none. */
export function conditionOf(filter: Wanted[]): string {
  const filters = filter.map(({ key, value }) => ({ type: "eq", key, value }));
  if (filters.length === 0) return "";
  return JSON.stringify(filters.length === 1 ? filters[0] : { type: "and", filters });
}

/** The progress of an action on several documents; null if none is running. */
export const bulk = new Cell<{ done: number; all: number } | null>(null);

/** RightsOf is the subject of the rights dialog: a document, or a part of a collection's settings. */
export type RightsOf = { kind: "document"; namespace: string; name: string; title: string } | { kind: "folders" | "members" | "instructions"; namespace: string };

/** The subject of the rights dialog; null when it is closed. */
export const rights = new Cell<RightsOf | null>(null);

const longest = 128; // bytes of a name

/** Creates a collection and selects it. The server learns of it with its first document. Returns false if the name is invalid or taken. */
export function makeCollection(name: string): boolean {
  const clean = name.trim();
  if (!clean || new TextEncoder().encode(clean).length > longest || /[\p{Cc}\u{10FFFF}]/u.test(clean)) return false;
  if (app.namespaces.value.some((n) => n.name === clean)) return false;
  app.addCollection(clean);
  choices.value = { ...choices.value, namespace: clean };
  return true;
}

/** Returns the namespace that requests use for a collection: "" for the server's default. */
export const collectionOf = (name: string): string => (app.namespaces.value.find((n) => n.name === name)?.default ? "" : name);

/** Applies an action to documents, one after the other, and shows a notice with the result. Returns the ids that failed; missing documents do not. */
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

/** Deletes every document of a collection that the caller can see. */
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
