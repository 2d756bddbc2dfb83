// The filter of the list of documents by their attributes.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import { count } from "../format.ts";
import { conditionOf, type Search } from "../library.ts";
import { Icon, IconButton, Spinner } from "../parts/controls.tsx";
import { Popup } from "../parts/popup.tsx";
import { strings } from "../strings.ts";
import type { AttributeRecord, Wanted } from "../types.ts";

const s = strings.filter;

interface Props {
  search: Search;
  change: (filter: Wanted[]) => void;
}

const nameOf = (key: string): string => (key === "category" ? s.category : key);

/** A button that opens a choice of the listed documents' attributes. */
export function FilterButton({ search, change }: Props) {
  return (
    <Popup label={s.label} icon="filter" text={s.button} class="filter">
      {(close) => (
        <Choice search={search} add={(wanted) => {
          close();
          change([...search.filter, ...wanted]);
        }} />
      )}
    </Popup>
  );
}

function Choice({ search: { namespace, q, filter }, add }: { search: Search; add: (wanted: Wanted[]) => void }) {
  const [all, setAll] = useState<AttributeRecord[] | null>(null);
  const [failed, setFailed] = useState("");
  const [chosen, setChosen] = useState<Record<string, Wanted["value"]>>({}); // by attribute
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("select")?.focus(), [all]);
  useEffect(() => {
    api.attributes(namespace, q, conditionOf(filter)).then((list) => setAll(list.attributes), (error) => setFailed(toApiError(error).message));
  }, []);
  if (failed) return <p class="bad" role="alert">{failed}</p>;
  if (!all) return <Spinner label={strings.working} />;
  const free = all.map((a) => ({ ...a, values: a.values.filter((v) => !filter.some((f) => f.key === a.key && f.value === v.value)) })).filter((a) => a.values.length > 0);
  if (free.length === 0) return <p class="soft-note">{filter.length > 0 ? s.noMore : s.none}</p>;
  return (
    <form ref={form} onSubmit={(e) => {
      e.preventDefault();
      add(Object.entries(chosen).map(([key, value]) => ({ key, value })));
    }}>
      {free.map((a) => (
        <label key={a.key} class="filter-choice">
          <span dir="auto">{nameOf(a.key)}</span>
          <select onChange={(e) => {
            const { [a.key]: _, ...others } = chosen;
            const wanted = a.values[e.currentTarget.selectedIndex - 1];
            setChosen(wanted ? { ...others, [a.key]: wanted.value } : others);
          }}>
            <option>{s.choose}</option>
            {a.values.map((v, i) => <option key={i}>{`${v.value} (${count(v.documents)})`}</option>)}
          </select>
        </label>
      ))}
      {free.some((a) => a.more) && <p class="soft-note">{s.more}</p>}
      <button type="submit" class="primary small" disabled={Object.keys(chosen).length === 0}>{s.button}</button>
    </form>
  );
}

/** The active filters, each with a button that removes it. */
export function FilterChips({ search: { filter }, change }: Props) {
  if (filter.length === 0) return null;
  return (
    <ul class="scope-chips filter-chips" aria-label={s.chosen}>
      {filter.map((f) => {
        const text = `${nameOf(f.key)}: ${f.value}`;
        return (
          <li key={`${f.key} ${typeof f.value} ${f.value}`}>
            <Icon name="filter" />
            <span dir="auto" title={text}>{text}</span>
            <IconButton icon="close" label={s.remove(text)} onClick={() => change(filter.filter((other) => other !== f))} />
          </li>
        );
      })}
    </ul>
  );
}
