// Files attached to the composer: their progress, and a suggested question once they are indexed.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import * as work from "../jobs.ts";
import { Icon, IconButton } from "../parts/controls.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.attachments;

/** Uploads files to the current collection, if the server accepts uploads. */
export function attach(files: Iterable<File>): void {
  const config = app.config.value;
  if (!config?.capabilities["uploads"]) {
    app.tell(strings.documents.noUploads, true);
    return;
  }
  for (const file of files) work.upload([file], choices.value.namespace, config.limits.upload, true);
}

export function Attachments() {
  const transfers = useCell(work.transfers).filter((t) => t.asked);
  const jobs = useCell(work.jobs);
  if (transfers.length === 0) return null;
  return (
    <ul class="attachments" aria-label={s.label}>
      {transfers.map((t) => <Attachment key={t.id} transfer={t} job={jobs.find((j) => j.id === t.job)} />)}
    </ul>
  );
}

function Attachment({ transfer: t, job }: { transfer: work.Transfer; job?: work.Job }) {
  const busy = useCell(app.busy);
  const name = t.names.join(", ");
  const done = job !== undefined && work.isFinal(job);
  const good = done && job.indexed + job.unchanged > 0;
  const file = job?.files?.[0];
  const error = t.error || (done && !good ? (file?.detail || file?.reason || job.error || strings.jobs.states[job.state]) : "");
  const about = () => {
    work.dismiss(t.id);
    void app.ask(s.question(name));
  };
  return (
    <li class={error ? "bad" : ""}>
      <Icon name={error ? "warn" : good ? "check" : "files"} />
      <span class="attachment-name" dir="auto">{name}</span>
      {error ? <small role="alert">{error}</small> : !good && <progress value={job ? undefined : t.sent} max={1} aria-label={s.reading(name)} />}
      {good && <button type="button" class="small" disabled={busy} onClick={about}>{s.ask}</button>}
      <IconButton icon="close" label={s.remove(name)} onClick={() => (t.request ? t.request.abort() : work.dismiss(t.id))} />
    </li>
  );
}
