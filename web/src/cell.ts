// State outside components: values that can be watched.
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

  /** Calls the watchers, after the value was changed in place. */
  notify(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

/** useCell returns the value of a cell and renders the component again whenever it changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [, again] = useState(0);
  const rendered = cell.value;
  useEffect(() => {
    const changed = () => again((n) => n + 1);
    if (cell.value !== rendered) changed(); // it changed between rendering and this effect
    return cell.watch(changed);
  }, [cell]);
  return cell.value;
}

/** saved returns a cell whose value is kept in localStorage. A stored value that is not `valid` is ignored. */
export function saved<T>(name: string, initial: T, valid: (value: unknown) => value is T): Cell<T> {
  let start = initial;
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    if (valid(stored)) start = stored;
  } catch {
    // Storage is switched off, or holds something else: keep the initial value.
  }
  const cell = new Cell(start);
  cell.watch(() => {
    try {
      localStorage.setItem(name, JSON.stringify(cell.value));
    } catch {
      // Without storage the value lives as long as the page.
    }
  });
  return cell;
}
