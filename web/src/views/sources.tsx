// The remote sources of a collection: the outcome of their last runs, and buttons to read or pause one.
import { useEffect, useState } from "preact/hooks";
import { json, send, toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { ago, duration, moment, money, size } from "../format.ts";
import { changed } from "../jobs.ts";
import { Dialog, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { useCollection } from "./namespace.tsx";

const s = strings.sources;

interface Source {
  address: string;
  kind: string;
  state: "ok" | "running" | "waiting" | "paused" | "failing" | "new";
  began: string | null;
  next: string | null;
  indexed: number;
  updated: number;
  unchanged: number;
  deleted: number;
  skipped: number;
  failed: number;
  error: string;
  failing_since: string | null;
  failures: { path: string; detail: string }[];
}

const again = 2000; // ms between two polls while a source is being read

const isAtWork = (source: Source): boolean => source.state === "running" || source.state === "waiting";

/** Returns the sources of a collection and a function that reloads them. Polls while one is being read. Sources that the caller may not see are absent. */
function useSources(namespace: string): [Source[], () => void] {
  const [all, setAll] = useState<Source[]>([]);
  const [asked, setAsked] = useState(0);
  const atWork = all.some(isAtWork);
  useEffect(() => setAll([]), [namespace]);
  useEffect(() => {
    const gone = new AbortController();
    const look = () => json<{ sources: Source[] }>(`/api/sources?namespace=${encodeURIComponent(namespace)}`, { signal: gone.signal }).then(
      ({ sources }) => {
        if (gone.signal.aborted) return;
        const ran = all.some((old) => isAtWork(old) || sources.some((now) => now.address === old.address && now.began !== old.began));
        if (ran && !sources.some(isAtWork)) changed.value++; // the list of documents is out of date
        setAll(sources);
      },
      () => {}, // not allowed, or the connection is lost, which the page shows elsewhere
    );
    void look();
    const timer = atWork ? setInterval(() => void look(), again) : 0;
    return () => {
      gone.abort();
      clearInterval(timer);
    };
  }, [namespace, asked, atWork]);
  return [all, () => setAsked((n) => n + 1)];
}

interface Estimate {
  objects: number;
  bytes: number;
  seconds: number;
  embedding_cost: number | null;
  cut: boolean;
}

const post = (action: string, namespace: string, address: string, signal?: AbortSignal) =>
  send(`/api/sources/${action}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ namespace, address }), signal });

/** A dialog with an estimate of what the first run of a source will read, before it starts. */
function FirstRun({ namespace, address, run, close }: { namespace: string; address: string; run: () => void; close: () => void }) {
  const [estimate, setEstimate] = useState<Estimate>();
  const [fault, setFault] = useState("");
  useEffect(() => {
    const gone = new AbortController();
    post("estimate", namespace, address, gone.signal)
      .then((reply) => reply.json() as Promise<Estimate>)
      .then((e) => !gone.signal.aborted && setEstimate(e), (error) => !gone.signal.aborted && setFault(toApiError(error).message));
    return () => gone.abort();
  }, [namespace, address]);
  const e = estimate;
  return (
    <Dialog title={s.firstRun} onClose={close} class="confirm">
      <p><bdi dir="ltr">{address}</bdi></p>
      {!e && !fault && <Spinner label={s.estimating} />}
      {fault && <p class="bad" role="alert"><bdi>{fault}</bdi></p>}
      {e && <p role="status">{s.estimate(e.objects, size(e.bytes), duration(Math.max(10, e.seconds) * 1000), e.cut)}</p>}
      {e && e.embedding_cost !== 0 && <p>{s.embedding(e.embedding_cost === null ? null : money(e.embedding_cost))}</p>}
      <div class="dialog-actions">
        <button type="button" onClick={close}>{strings.cancel}</button>
        <button type="button" class="primary" disabled={!e && !fault} onClick={() => { close(); run(); }}>{s.run}</button>
      </div>
    </Dialog>
  );
}

export function Sources() {
  const namespace = useCollection();
  const [all, look] = useSources(namespace);
  const [first, setFirst] = useState("");
  if (all.length === 0) return null;
  const act = async (action: "run" | "pause" | "resume", address: string) => {
    try {
      await post(action, namespace, address);
    } catch (error) {
      app.tell(toApiError(error).message, true);
    }
    look();
  };
  return (
    <section class="jobs sources-list" aria-label={s.label}>
      <h2>{s.label}</h2>
      <ul>{all.map((source) => <Line key={source.address} source={source} act={(action) => (action === "run" && !source.began ? setFirst(source.address) : void act(action, source.address))} />)}</ul>
      {first && <FirstRun namespace={namespace} address={first} run={() => void act("run", first)} close={() => setFirst("")} />}
    </section>
  );
}

const badges: Record<Source["state"], string> = { ok: "good", running: "", waiting: "", paused: "warn", failing: "bad", new: "" };

/** Returns the path of a file relative to the address of its source. */
const within = (address: string, path: string): string => path.startsWith(`${address}/`) ? path.slice(address.length + 1) : path;

function Line({ source, act }: { source: Source; act: (action: "run" | "pause" | "resume") => void }) {
  const partly = source.state === "ok" && source.failed > 0;
  const paused = source.state === "paused";
  return (
    <li class="job" data-state={source.state}>
      <div class="job-head">
        <span class="job-name" title={source.address}><bdi dir="ltr">{source.address}</bdi></span>
        <span class={`badge ${partly ? "warn" : badges[source.state] ?? ""}`}>{partly ? s.partly : s.states[source.state] ?? source.state}</span>
      </div>
      <p class="soft">
        {[source.began ? s.lastRun(ago(source.began)) : s.never, source.began && s.counts(source), source.next && !isAtWork(source) && s.nextRun(moment(source.next))].filter(Boolean).join(" · ")}
      </p>
      {source.error && <p class="bad"><bdi>{source.error}</bdi>{source.failing_since && ` · ${s.since(moment(source.failing_since))}`}</p>}
      {source.failures.length > 0 && (
        <ul class="job-files">
          {source.failures.map((f) => <li key={f.path}><Icon name="warn" /><span><b dir="auto">{within(source.address, f.path)}</b> <bdi>{f.detail}</bdi></span></li>)}
        </ul>
      )}
      <p class="actions">
        <button type="button" class="small" disabled={isAtWork(source)} aria-label={`${s.run}: ${source.address}`} onClick={() => act("run")}><Icon name="retry" />{s.run}</button>
        <button type="button" class="small quiet" aria-label={`${paused ? s.resume : s.pause}: ${source.address}`} onClick={() => act(paused ? "resume" : "pause")}>{paused ? s.resume : s.pause}</button>
      </p>
    </li>
  );
}
