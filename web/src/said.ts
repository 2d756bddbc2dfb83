// The history of a conversation, as a request carries it.

export interface Said {
  role: "user" | "assistant";
  content: string;
}

// The server limits the size of bodies, and would shorten a longer history as well.
export const maxHistory = 60;
const maxHistoryCharacters = 200_000;

/** Returns the newest part of a history, within both limits. */
export function recent(history: Said[]): Said[] {
  let size = 0;
  let first = history.length;
  while (first > 0 && history.length - first < maxHistory) {
    size += history[first - 1]!.content.length;
    if (size > maxHistoryCharacters) break;
    first--;
  }
  return history.slice(first);
}
