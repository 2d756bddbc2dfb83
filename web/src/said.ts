// What was said before a question, as a request carries it.

export interface Said {
  role: "user" | "assistant";
  content: string;
}

// Bodies are bounded by the server; a history longer than this would be cut there as well.
export const maxHistory = 60;
const maxHistoryCharacters = 200_000;

/** The newest part of a history that is sent. */
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
