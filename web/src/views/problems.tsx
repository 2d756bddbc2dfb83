// Problems reported by the server, and the lost connection.
import * as app from "../app.ts";
import { saved, useCell } from "../cell.ts";
import { Icon, IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { Problem, ServerConfig } from "../types.ts";

const isList = (v: unknown): v is string[] => Array.isArray(v) && v.every((x) => typeof x === "string");

/** Messages that were dismissed in this browser, newest last. */
const dismissed = saved<string[]>("parley.dismissed", [], isList);
const mostDismissed = 20;

/** The problems that the server reports: those with one of the codes in `only`, or all but "no_documents". */
export function Problems({ only }: { only?: string[] }) {
  const config = useCell(app.config);
  const gone = useCell(dismissed);
  const problems = config?.problems.filter((p) => (only ? only.includes(p.code) : p.code !== "no_documents") && !gone.includes(p.message)) ?? [];
  if (problems.length === 0) return null;
  return (
    <ul class="problems" aria-label={strings.problems}>
      {problems.map((p) => (
        <li key={p.code} class={p.severity}>
          <Icon name={p.severity === "info" ? "bulb" : "warn"} />
          <span dir="auto">
            {wordsOf(p, config!)}
            {p.code === "ingesting" && config!.ingestion.files > 0 && (
              <progress max={config!.ingestion.files} value={config!.ingestion.done} aria-label={strings.reading} />
            )}
          </span>
          {p.severity === "info" && p.code !== "ingesting" && <IconButton icon="close" label={strings.dismiss} onClick={() => (dismissed.value = [...gone, p.message].slice(-mostDismissed))} />}
        </li>
      ))}
    </ul>
  );
}

/** Returns the text of a problem: in the language of the page for known codes, else the server's own. */
function wordsOf(p: Problem, { ingestion }: ServerConfig): string {
  if (p.code === "no_key") return strings.known.no_key;
  if (p.code === "ingesting" && ingestion.files > 0) return strings.known.ingesting(ingestion.done, ingestion.files);
  return p.message;
}

/** A line at the top while the server cannot be reached. */
export function Connection() {
  const online = useCell(app.online);
  const reachable = useCell(app.reachable);
  const f = strings.failures.offline;
  return (
    <div role="status" class="connection">
      {(!online || !reachable) && (
        <p>
          <Icon name="warn" /> <strong>{f.title}</strong> <span>{f.text}</span>
          <button type="button" class="quiet small" onClick={() => void app.refresh()}>{strings.tryAgain}</button>
        </p>
      )}
    </div>
  );
}
