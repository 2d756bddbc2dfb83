// State outside of components: a value that can be watched.
import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  private watchers = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(next: T) {
    if (Object.is(next, this.current)) return;
    this.current = next;
    this.notify();
  }

  /** Tells the watchers that the value has changed inside. */
  notify(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

/** useCell renders the component again whenever the cell changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [, again] = useState(0);
  const rendered = cell.value;
  useEffect(() => {
    const changed = () => again((n) => n + 1);
    if (cell.value !== rendered) changed(); // between rendering and now
    return cell.watch(changed);
  }, [cell]);
  return cell.value;
}

/** Saved is a cell whose value survives a reload, in the browser only. */
export function saved<T>(name: string, initial: T, valid: (value: unknown) => value is T): Cell<T> {
  let start = initial;
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    if (valid(stored)) start = stored;
  } catch {
    // Storage is switched off, or holds something else: the initial value it is.
  }
  const cell = new Cell(start);
  cell.watch(() => {
    try {
      localStorage.setItem(name, JSON.stringify(cell.value));
    } catch {
      // Not kept, then.
    }
  });
  return cell;
}
