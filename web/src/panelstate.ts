// The contents of the side panel. An open panel has its own entry in the browser's history, so that Back closes it.
import { Cell } from "./cell.ts";
import type { Citation } from "./types.ts";

export type Panel =
  | { kind: "source"; citation: Citation; occurrence: number; claim: string } // occurrence: of its label in the answer, from 0; -1: of all
  | { kind: "document"; id: string; namespace: string; name: string; page: number; start?: number; end?: number }
  | { kind: "thinking"; message: string };

export const panel = new Cell<Panel | null>(null);

const isEntry = (state: unknown): boolean => (state as { panel?: unknown } | null)?.panel === true;

let goingBack: Promise<void> | null = null; // pending while the browser leaves the panel's history entry

/** Closes the panel and leaves its history entry. */
export function closePanel(): void {
  panel.value = null;
  if (!isEntry(history.state) || goingBack) return;
  goingBack = new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("popstate", done);
      goingBack = null;
      resolve();
    };
    const timer = setTimeout(done, 10_000); // in case the browser does not go back
    addEventListener("popstate", done);
  });
  history.back();
}

/** Runs a function that changes the history, after the panel's entry has been left. */
export function afterPanel(then: () => void): void {
  if (goingBack) void goingBack.then(then);
  else then();
}

function enter(): void {
  afterPanel(() => {
    if (panel.value && !isEntry(history.state)) history.pushState({ panel: true }, "", location.href);
  });
}

export function watchPanel(): void {
  panel.watch(() => panel.value && enter());
  addEventListener("popstate", (event) => {
    if (!isEntry(event.state) && !goingBack) panel.value = null;
  });
  if (isEntry(history.state)) history.replaceState(null, "", location.href); // left over from before a reload
}
