// Parts shared by the tabs of the administration view.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, send, toApiError } from "../calls.ts";
import { EmptyState } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

const s = strings.admin;

/** Fetches a path and reads the response, again whenever the path or `again` changes. `value` is null until then. */
export function useAnswer<T>(path: string, read: (response: Response) => Promise<T>, again = 0): { value: T | null; error: ApiError | null } {
  const [state, setState] = useState<{ path: string; value: T | null; error: ApiError | null }>({ path, value: null, error: null });
  useEffect(() => {
    const gone = new AbortController();
    send(path, { signal: gone.signal }).then(read).then(
      (value) => setState({ path, value, error: null }),
      (error) => gone.signal.aborted || setState({ path, value: null, error: toApiError(error) }),
    );
    return () => gone.abort();
  }, [path, again]);
  return state.path === path ? state : { value: null, error: null };
}

export const readJSON = async <T,>(response: Response): Promise<T> => (await response.json()) as T;

/** A table. On phones, each row is a card, and each cell is labelled with its column's name. */
export function AdminTable({ label, children }: { label: string; children: ComponentChildren }) {
  const table = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    const columns = [...(table.current?.tHead?.rows[0]?.cells ?? [])].map((c) => (c.querySelector(".offscreen") ? "" : c.textContent));
    for (const row of table.current?.rows ?? []) {
      for (const [i, cell] of [...row.cells].entries()) cell.dataset["label"] = columns[i] ?? "";
    }
  });
  return <div class="table-scroll" tabIndex={0} role="region" aria-label={label}><table class="admin-table" ref={table}>{children}</table></div>;
}

export function Failed({ error }: { error: ApiError }) {
  const denied = error.status === 401 || error.status === 403;
  return <EmptyState icon="warn" title={denied ? s.denied : s.notLoaded}>{!denied && <p dir="auto">{error.message}</p>}</EmptyState>;
}

const periods = [7, 30, 90, 365] as const;

/** Returns the first of the last `days` days including today, as YYYY-MM-DD (UTC). */
export const since = (days: number): string => new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);

export function Period({ days, set }: { days: number; set: (days: number) => void }) {
  return (
    <label class="namespace">
      <span>{s.period}</span>
      <select value={days} onChange={(e) => set(Number(e.currentTarget.value))}>{periods.map((n) => <option key={n} value={n}>{s.days(n)}</option>)}</select>
    </label>
  );
}
