// Short messages over the page, and what screen readers are told.
import { Cell } from "./cell.ts";

/** Action is what can be done about a notice. */
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
