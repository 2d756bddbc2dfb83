// Evaluation: a set of questions, two settings side by side, and the outcome of each question.
import { useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { progress, run, start, stop, variants } from "../evalrun.ts";
import { addCases, better, cases, casesFile, documentCases, isMiss, maxCases, parseCases, ratedCases, summaryOf, type Case, type Run, type Summary, type Variant } from "../evaluation.ts";
import { count, duration, money } from "../format.ts";
import { saveFile } from "../parts/savefile.ts";
import { listed, loadModels, modelName, answering } from "../models.ts";
import { Confirm } from "../parts/confirm.tsx";
import { EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { choices, recordOf, settings, type Value } from "../settings.ts";
import { strings } from "../strings.ts";
import { OutcomeDialog, VerdictBadge } from "./outcome.tsx";
import { NamespaceSelect } from "./namespace.tsx";

const s = strings.evaluation;

export function EvaluationView() {
  const list = useCell(cases);
  const last = useCell(run);
  return (
    <div class="view">
      <div class="view-inner evaluation">
        <header class="view-head"><h1>{s.title}</h1><NamespaceSelect /></header>
        <p class="soft-note">{s.text}</p>
        <Questions list={list} />
        {list.length === 0 ? <EmptyState icon="check" title={s.none}><p>{s.noneText}</p></EmptyState> : (
          <>
            <Compare list={list} />
            {last && Object.keys(last.outcomes).length > 0 && <Results list={list} last={last} />}
            <Cases list={list} last={last} />
          </>
        )}
      </div>
    </div>
  );
}

// ---- The questions ----------------------------------------------------------------------------------

function Questions({ list }: { list: Case[] }) {
  const picker = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [clearing, setClearing] = useState(false);
  const working = useCell(progress) !== null;
  const take = async (from: Promise<Omit<Case, "id">[]>) => {
    setBusy(true);
    try {
      const n = addCases(await from);
      app.tell(cases.value.length >= maxCases ? s.full(maxCases) : s.added(n));
    } catch (error) {
      app.tell(toApiError(error).message, true);
    }
    setBusy(false);
  };
  return (
    <section aria-label={s.collect}>
      <div class="admin-tools">
        <button type="button" disabled={busy || working} onClick={() => void take(api.allChats().then(ratedCases))}><Icon name="thumbUp" />{s.fromThumbs}</button>
        <button type="button" disabled={busy || working} onClick={() => picker.current?.click()}><Icon name="upload" />{s.fromFile}</button>
        <button type="button" disabled={busy || working} onClick={() => void take(documentCases(choices.value.namespace))}><Icon name="files" />{s.fromDocuments}</button>
        {list.length > 0 && <button type="button" class="quiet" onClick={() => saveFile("questions.jsonl", "application/x-ndjson", casesFile(list))}><Icon name="download" />{s.save}</button>}
        {list.length > 0 && <button type="button" class="quiet danger" disabled={working} onClick={() => setClearing(true)}><Icon name="trash" />{s.clear}</button>}
        {busy && <Spinner label={strings.working} />}
        <input ref={picker} type="file" accept=".jsonl,.json,.csv,.txt" class="offscreen" tabIndex={-1} aria-label={s.fromFile}
          onChange={(e) => {
            const file = e.currentTarget.files?.[0];
            e.currentTarget.value = "";
            if (file) void take(file.text().then(parseCases));
          }} />
      </div>
      <AddQuestion />
      {clearing && <Confirm title={s.clearTitle} text={s.clearText} action={s.clear} close={() => setClearing(false)} run={() => { cases.value = []; run.value = null; }} />}
    </section>
  );
}

function AddQuestion() {
  const [question, setQuestion] = useState("");
  const [source, setSource] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    addCases([{ question, truth: "", citations: source.split(/[;|]/).map((l) => l.trim()).filter(Boolean) }]);
    setQuestion("");
    setSource("");
  };
  return (
    <form class="add-case" onSubmit={add}>
      <label><span>{s.question}</span><input type="text" dir="auto" autocomplete="off" value={question} onInput={(e) => setQuestion(e.currentTarget.value)} /></label>
      <label><span>{s.expected}</span><input type="text" dir="auto" autocomplete="off" placeholder="handbook.pdf#page=3" value={source} onInput={(e) => setSource(e.currentTarget.value)} /></label>
      <button type="submit" disabled={!question.trim()}><Icon name="plus" />{s.add}</button>
    </form>
  );
}

// ---- The settings -----------------------------------------------------------------------------------

const compared = ["retrieval_mode", "semantic_ranker", "top"];

function Compare({ list }: { list: Case[] }) {
  const pair = useCell(variants);
  const at = useCell(progress);
  const set = (n: 0 | 1, variant: Variant) => (variants.value = n === 0 ? [variant, pair[1]] : [pair[0], variant]);
  return (
    <section class="compare" aria-label={s.compare}>
      <div class="variants">
        {([0, 1] as const).map((n) => <VariantFields key={n} name={s.names[n]!} variant={pair[n]} set={(v) => set(n, v)} />)}
      </div>
      <div class="admin-tools">
        {at ? (
          <>
            <progress max={at.all} value={at.done} aria-label={s.running(at.done, at.all)} />
            <span role="status">{s.running(at.done, at.all)}</span>
            <button type="button" onClick={stop}><Icon name="stop" />{s.stop}</button>
          </>
        ) : (
          <>
            <button type="button" class="primary" onClick={() => void start()}><Icon name="send" />{s.run}</button>
            <p class="soft-note">{s.runText(2 * list.length)}</p>
          </>
        )}
      </div>
    </section>
  );
}

function VariantFields({ name, variant, set }: { name: string; variant: Variant; set: (v: Variant) => void }) {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  useCell(listed);
  const value = (key: string, v: Value | undefined) => {
    const { [key]: _, ...rest } = variant.values;
    set({ ...variant, values: v === undefined ? rest : { ...rest, [key]: v } });
  };
  return (
    <fieldset class="setting-group">
      <legend>{name}</legend>
      <label class="field">
        <span>{strings.models.label}</span>
        <select value={variant.model} onFocus={loadModels} onChange={(e) => set({ ...variant, model: e.currentTarget.value })}>
          <option value="">{s.asSet(modelName(chosen.models.inference || (config?.model ?? "")))}</option>
          {answering(config).map((key) => <option key={key} value={key}>{modelName(key)}</option>)}
        </select>
      </label>
      {compared.map((key) => <Choice key={key} of={key} value={variant.values[key]} set={(v) => value(key, v)} />)}
    </fieldset>
  );
}

/** A setting that a variant may change; without a value, the page's own setting applies. */
function Choice({ of, value, set }: { of: string; value: Value | undefined; set: (v: Value | undefined) => void }) {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const setting = settings.find((x) => x.key === of)!;
  const told = recordOf(setting, config);
  if (!told) return null;
  const title = strings.settings.each[of]?.[0] ?? told.title;
  const names: Record<string, string> = strings.settings.options;
  const word = (v: Value): string => (typeof v === "boolean" ? (v ? s.on : s.off) : typeof v === "number" ? count(v) : (names[v] ?? v));
  const options: Value[] = told.type === "boolean" ? [true, false] : told.type === "choice" ? told.options : [3, 5, 8, 10, 15, 20].filter((n) => n >= told.min && n <= told.max);
  return (
    <label class="field">
      <span>{title}</span>
      <select value={value === undefined ? "" : String(value)} onChange={(e) => set(options.find((o) => String(o) === e.currentTarget.value))}>
        <option value="">{s.asSet(word(chosen.values[of] ?? told.default ?? ""))}</option>
        {options.map((o) => <option key={String(o)} value={String(o)}>{word(o)}</option>)}
      </select>
    </label>
  );
}

// ---- The results ------------------------------------------------------------------------------------

const share = (n: number, of: number): string => (of === 0 ? "–" : `${count(n)} / ${count(of)}`);

const measures: { name: keyof typeof s.measures; value: (sum: Summary) => string }[] = [
  { name: "cited", value: (x) => share(x.cited, x.expected) },
  { name: "found", value: (x) => share(x.found, x.expected) },
  { name: "sourced", value: (x) => share(x.sourced, x.asked) },
  { name: "unconfirmed", value: (x) => count(x.unconfirmed) },
  { name: "failed", value: (x) => count(x.failed) },
  { name: "duration", value: (x) => (x.asked > 0 ? duration(x.duration) : "–") },
  { name: "cost", value: (x) => `${money(x.cost)}${x.unknown ? ` ${strings.admin.unknown}` : ""}` },
];

function Results({ list, last }: { list: Case[]; last: Run }) {
  const sums = [summaryOf(list, last, 0), summaryOf(list, last, 1)];
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={s.results}>
      <table class="admin-table eval-sums">
        <thead><tr><th scope="col">{s.measure}</th>{s.names.map((n) => <th key={n} scope="col" class="align-right">{n}</th>)}</tr></thead>
        <tbody>
          {measures.map((m) => <tr key={m.name}><th scope="row">{s.measures[m.name]}</th>{sums.map((x, i) => <td key={i} class="align-right">{m.value(x)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

const filters = ["all", "misses", "different"] as const;

function Cases({ list, last }: { list: Case[]; last: Run | null }) {
  const [filter, setFilter] = useState<(typeof filters)[number]>("all");
  const [open, setOpen] = useState<Case | null>(null);
  const working = useCell(progress) !== null;
  const of = (c: Case) => last?.outcomes[c.id] ?? [null, null];
  const shown = list.filter((c) => filter === "all" || (filter === "misses" ? of(c).some(isMiss) : better(...of(c)) !== 0));
  return (
    <section>
      <div class="admin-tools">
        <h2>{s.count(list.length)}</h2>
        <label class="namespace">
          <span>{s.show}</span>
          <select value={filter} onChange={(e) => setFilter(e.currentTarget.value as typeof filter)}>{filters.map((f) => <option key={f} value={f}>{s.filters[f]}</option>)}</select>
        </label>
      </div>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={s.questions}>
        <table class="admin-table eval-cases">
          <thead><tr><th scope="col">{s.question}</th>{s.names.map((n) => <th key={n} scope="col">{n}</th>)}<th scope="col"><span class="offscreen">{strings.documents.actionsHead}</span></th></tr></thead>
          <tbody>
            {shown.map((c) => (
              <tr key={c.id}>
                <th scope="row">
                  <button type="button" class="link-button" dir="auto" onClick={() => setOpen(c)}>{c.question}</button>
                  <small dir="auto">{c.citations.join(" · ") || s.unknownSource}</small>
                </th>
                {of(c).map((o, i) => <td key={i}><VerdictBadge outcome={o} /></td>)}
                <td><button type="button" class="quiet small icon-button" disabled={working} aria-label={s.remove(c.question)} title={s.remove(c.question)} onClick={() => (cases.value = list.filter((x) => x !== c))}><Icon name="trash" /></button></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && <p class="soft-note" role="status">{s.nothing}</p>}
      {open && <OutcomeDialog of={open} outcomes={of(open)} close={() => setOpen(null)} />}
    </section>
  );
}
