// Short notices on top of the page, and announcements for screen readers.
import { Cell } from "./cell.ts";

/** Action is a button in a notice, such as Undo. */
export interface Action {
  label: string;
  run: () => void;
}

export interface Notice {
  text: string;
  bad: boolean;
  action: Action | null;
  n: number;
}

export const toast = new Cell<Notice | null>(null);
export const announcement = new Cell("");

let count = 0;

export function tell(text: string, bad = false, action: Action | null = null): void {
  toast.value = { text, bad, action, n: ++count };
}
