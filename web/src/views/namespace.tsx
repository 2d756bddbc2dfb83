// The namespace that is searched and listed.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { count } from "../format.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.documents;

/** A choice of namespaces; nothing where there is only one. */
export function NamespaceSelect() {
  const all = useCell(app.namespaces);
  const chosen = useCell(choices);
  if (all.length < 2) return null;
  return (
    <label class="namespace">
      <span>{s.namespace}</span>
      <select value={chosen.namespace || all.find((n) => n.default)?.name}
        onChange={(e) => {
          const name = e.currentTarget.value;
          choices.value = { ...chosen, namespace: all.find((n) => n.name === name)?.default ? "" : name };
        }}>
        {all.map((n) => <option key={n.name} value={n.name}>{s.namespaceOption(n.name, count(n.documents))}</option>)}
      </select>
    </label>
  );
}
