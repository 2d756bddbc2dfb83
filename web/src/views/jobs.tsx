// Recent uploads and the state of their jobs.
import { useState } from "preact/hooks";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { ago } from "../format.ts";
import * as work from "../jobs.ts";
import { Icon, IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

const s = strings.jobs;
const shownAtFirst = 4;

export function JobList({ namespace }: { namespace: string }) {
  const jobs = useCell(work.jobs).filter((j) => j.namespace === namespace);
  const transfers = useCell(work.transfers).filter((t) => t.job === ""); // the others have become jobs
  const [all, setAll] = useState(false);
  if (jobs.length + transfers.length === 0) return null;
  const shown = all ? jobs : jobs.slice(0, shownAtFirst);
  return (
    <section class="jobs" aria-label={s.label}>
      <h2>{s.label}</h2>
      <ul>
        {transfers.map((t) => <TransferLine key={t.id} transfer={t} />)}
        {shown.map((j) => <JobLine key={j.id} job={j} />)}
      </ul>
      {jobs.length > shownAtFirst && <button type="button" class="quiet small" onClick={() => setAll(!all)}>{all ? s.fewer : s.all(jobs.length)}</button>}
    </section>
  );
}

function TransferLine({ transfer: t }: { transfer: work.Transfer }) {
  const name = t.names.length === 1 ? t.names[0]! : s.files(t.names.length);
  return (
    <li class={`job ${t.error ? "failed" : "running"}`}>
      <div class="job-head">
        <span class="job-name">{name}</span>
        {t.request ? (
          <IconButton icon="close" label={strings.cancel} onClick={() => t.request?.abort()} />
        ) : (
          <IconButton icon="close" label={strings.dismiss} onClick={() => work.dismiss(t.id)} />
        )}
      </div>
      {t.error ? <p class="bad" role="alert">{t.error}</p> : <Progress value={t.sent} label={s.sending} />}
    </li>
  );
}

function Progress({ value, label }: { value: number; label: string }) {
  return (
    <div class="progress-line">
      <progress max={1} value={value} aria-label={label} />
      <small>{label} {Math.round(value * 100)} %</small>
    </div>
  );
}

function JobLine({ job: j }: { job: work.Job }) {
  const files = j.files ?? [];
  const name = files.length === 1 ? files[0]!.name : files.length > 1 ? s.files(files.length) : s.kinds(j.kind);
  const act = (what: (id: string) => Promise<void>) => () => void what(j.id).catch((e) => app.tell(toApiError(e).message, true));
  const bad = files.filter((f) => f.state === "failed" || f.state === "skipped" || f.partly);
  return (
    <li class={`job ${j.state}`} data-state={j.state}>
      <div class="job-head">
        <span class="job-name">{name}</span>
        <span class={`badge ${badges[j.state]}`}>{j.cancelling && !work.isFinal(j) ? s.cancelling : s.states[j.state]}</span>
        <small class="soft">{ago(j.created_at)}</small>
        {!work.isFinal(j) && <IconButton icon="close" label={s.cancel} onClick={act(work.cancelJob)} />}
        {(j.state === "failed" || j.state === "partial" || j.state === "cancelled") && <IconButton icon="retry" label={s.retry} onClick={act(work.retryJob)} />}
      </div>
      {!work.isFinal(j) && j.files_total > 0 && <Progress value={j.files_done / j.files_total} label={j.message || s.indexing} />}
      {j.error && <p class="bad">{j.error}</p>}
      {work.isFinal(j) && j.state !== "failed" && <p class="soft">{s.done(j.indexed, j.unchanged, j.chunks)}</p>}
      {bad.length > 0 && (
        <ul class="job-files">
          {bad.slice(0, 50).map((f, i) => (
            <li key={i}><Icon name="warn" /><span><b>{f.name}</b> {f.detail || f.reason}{f.reason && f.detail && <small> ({f.reason})</small>}</span></li>
          ))}
        </ul>
      )}
    </li>
  );
}

const badges = { queued: "", running: "", done: "good", partial: "warn", failed: "bad", cancelled: "" } as const;
