// What the server says is not as it should be.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { Icon } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

/** What the server says, or of that what has one of these codes. */
export function Problems({ only }: { only?: string[] }) {
  const config = useCell(app.config);
  const problems = config?.problems.filter((p) => (only ? only.includes(p.code) : p.code !== "no_documents")) ?? [];
  if (problems.length === 0) return null;
  return (
    <ul class="problems" aria-label={strings.problems}>
      {problems.map((p) => (
        <li key={p.code} class={p.severity}>
          <Icon name={p.severity === "info" ? "bulb" : "warn"} />
          <span>
            {p.message}
            {p.code === "ingesting" && config!.ingestion.files > 0 && (
              <progress max={config!.ingestion.files} value={config!.ingestion.done} aria-label={strings.reading} />
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A line over everything while the server is out of reach. */
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
