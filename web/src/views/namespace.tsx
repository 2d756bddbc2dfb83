// The current collection, called a namespace in the API.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { count } from "../format.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.documents;

/** Returns the name of the current collection. */
export function useCollection(): string {
  const all = useCell(app.namespaces);
  const chosen = useCell(choices);
  return chosen.namespace || all.find((n) => n.default)?.name || "";
}

/** Returns the displayed name of a collection. The one that every server has, "default", was not named by anyone. */
export const collectionName = (name: string): string => (name === "default" ? s.mainCollection : name);

/** A choice of collections; hidden if there is only one. */
export function NamespaceSelect() {
  const all = useCell(app.namespaces);
  const collection = useCollection();
  if (all.length < 2) return null;
  return (
    <label class="namespace">
      <span>{s.namespace}</span>
      <select value={collection}
        onChange={(e) => {
          const name = e.currentTarget.value;
          choices.value = { ...choices.value, namespace: all.find((n) => n.name === name)?.default ? "" : name };
        }}>
        {all.map((n) => <option key={n.name} value={n.name}>{s.namespaceOption(collectionName(n.name), count(n.documents))}</option>)}
      </select>
    </label>
  );
}
