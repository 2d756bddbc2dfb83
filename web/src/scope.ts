// The documents that questions are limited to; an empty list means the whole collection.
import { Cell } from "./cell.ts";
import { choices } from "./settings.ts";

export interface ScopedDocument {
  id: string;
  title: string;
}

export const most = 100; // the server's limit

export const scope = new Cell<ScopedDocument[]>([]);

export const isInScope = (id: string): boolean => scope.value.some((d) => d.id === id);

export function addToScope(d: ScopedDocument): void {
  if (!isInScope(d.id) && scope.value.length < most) scope.value = [...scope.value, { id: d.id, title: d.title }];
}

export function removeFromScope(id: string): void {
  scope.value = scope.value.filter((d) => d.id !== id);
}

let collection = choices.value.namespace;

choices.watch(() => {
  if (choices.value.namespace === collection) return;
  collection = choices.value.namespace;
  scope.value = []; // the documents belong to the previous collection
});
