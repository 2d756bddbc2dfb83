// The choice of where answers come from: a collection, and documents in it.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { count } from "../format.ts";
import { Icon, IconButton, SearchField } from "../parts/controls.tsx";
import { Popup } from "../parts/popup.tsx";
import { addToScope, isInScope, removeFromScope, scope } from "../scope.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import type { DocumentRecord } from "../types.ts";
import { collectionName, useCollection } from "./namespace.tsx";

const s = strings.scope;
const pause = 150; // ms without typing before a search is sent

/**
 * Returns the documents whose names or titles contain a text; null until the server has answered, or if not `wanted`. While the server
 * searches for a new text, these are the documents of the last answer that contain it.
 */
export function useDocuments(namespace: string, q: string, wanted = true): DocumentRecord[] | null {
  const [found, setFound] = useState<{ namespace: string; q: string; documents: DocumentRecord[] } | null>(null);
  useEffect(() => {
    if (!wanted) return;
    let left = false;
    const take = (documents: DocumentRecord[]) => !left && setFound({ namespace, q, documents });
    const timer = setTimeout(() => {
      api.documents(namespace, q).then((list) => take(list.documents), () => take([]));
    }, q ? pause : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [namespace, q, wanted]);
  if (!wanted || found?.namespace !== namespace) return null;
  if (found.q === q) return found.documents;
  const known = found.documents.filter((d) => `${d.name}\n${d.title}`.toLowerCase().includes(q.toLowerCase()));
  return known.length > 0 ? known : null; // the server may know others
}

export function ScopeButton() {
  const documents = useCell(scope);
  const collection = useCollection();
  const all = useCell(app.namespaces);
  const text = documents.length === 1 ? documents[0]!.title : documents.length > 1 ? s.some(documents.length) : all.length > 1 ? collectionName(collection) : s.all;
  return (
    <Popup label={s.label} icon="files" text={text} class="scope">
      {() => <Choice />}
    </Popup>
  );
}

function Choice() {
  const chosen = useCell(choices);
  const documents = useCell(scope);
  const namespaces = useCell(app.namespaces);
  const [q, setQ] = useState("");
  const found = useDocuments(chosen.namespace, q);
  const collection = useCollection();
  return (
    <>
      {namespaces.length > 1 && (
        <fieldset class="collections">
          <legend>{s.collection}</legend>
          {namespaces.map((n) => (
            <label key={n.name}>
              <input type="radio" name="collection" checked={n.name === collection}
                onChange={() => (choices.value = { ...choices.value, namespace: n.default ? "" : n.name })} />
              <span dir="auto">{collectionName(n.name)}</span> <small>{count(n.documents)}</small>
            </label>
          ))}
        </fieldset>
      )}
      <SearchField label={strings.documents.search} value={q} onInput={setQ} />
      <div class="scope-list" role="group" aria-label={s.documents}>
        {!q && (
          <label class="scope-all">
            <input type="checkbox" checked={documents.length === 0} disabled={documents.length === 0} onChange={() => (scope.value = [])} />
            <span>{s.all}</span>
          </label>
        )}
        {found?.map((d) => (
          <label key={d.id} title={d.name}>
            <input type="checkbox" checked={isInScope(d.id)} onChange={(e) => (e.currentTarget.checked ? addToScope({ id: d.id, title: d.title || d.name }) : removeFromScope(d.id))} />
            <span dir="auto">{d.title || d.name}</span>
          </label>
        ))}
        {found?.length === 0 && q && <p class="none">{strings.documents.nothing(q)}</p>}
      </div>
      <p class="soft-note">{s.hint}</p>
    </>
  );
}

/** The documents in scope, each with a button that removes it. */
export function ScopeChips() {
  const documents = useCell(scope);
  if (documents.length === 0) return null;
  return (
    <ul class="scope-chips" aria-label={s.documents}>
      {documents.map((d) => (
        <li key={d.id}>
          <Icon name="files" />
          <span dir="auto">{d.title}</span>
          <IconButton icon="close" label={s.remove(d.title)} onClick={() => removeFromScope(d.id)} />
        </li>
      ))}
    </ul>
  );
}

const named = /(^|\s)#([^\s#]{0,60})$/u;

/** Returns the text after a # at the end of a draft; null if there is none. */
export const nameIn = (text: string): string | null => named.exec(text)?.[2] ?? null;

/** Returns a draft without the # at its end and the text after it. */
export const withoutName = (text: string): string => text.replace(named, "$1");
