// Drafts: the text being written in each conversation, kept across reloads.
import { Cell } from "./cell.ts";

export const draft = new Cell("");

const keyOf = (conversation: string) => `parley.draft.${conversation || "new"}`;

let current = "";
let paused = false; // true while an earlier question is being edited, which is not a draft

draft.watch(() => {
  if (!paused) keep(current, draft.value);
});

function keep(conversation: string, text: string): void {
  try {
    if (text) localStorage.setItem(keyOf(conversation), text);
    else localStorage.removeItem(keyOf(conversation));
  } catch {
    // Without storage a draft lives as long as the page.
  }
}

function kept(conversation: string): string {
  try {
    return localStorage.getItem(keyOf(conversation)) ?? "";
  } catch {
    return "";
  }
}

/** Shows the draft of a conversation. */
export function openDraft(conversation: string): void {
  current = conversation;
  paused = false;
  draft.value = kept(conversation);
}

/** Puts a question into the field of the next new conversation. */
export function draftNew(text: string): void {
  keep("", text);
  if (current === "") draft.value = text;
}

/** Moves the current draft to a conversation that has just got its id. */
export function nameDraft(conversation: string): void {
  keep(current, "");
  current = conversation;
  if (!paused) keep(current, draft.value);
}

/** Puts an earlier question into the field; endEdit restores the draft. */
export function beginEdit(text: string): void {
  paused = true;
  draft.value = text;
}

export function endEdit(): void {
  paused = false;
  draft.value = kept(current);
}

export const dropDraft = (conversation: string): void => keep(conversation, "");
