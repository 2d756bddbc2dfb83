// The panel that shows how an answer was made.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { totalsOf } from "../conversation.ts";
import { count, digits, duration, money, score } from "../format.ts";
import { IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { isOver, type Answer } from "../turnstate.ts";
import type { PassageRecord, StageRecord, Thoughts, TurnRecord } from "../types.ts";

const s = strings.thinking;
const stageName = (stage: string) => strings.stages[stage as keyof typeof strings.stages] ?? stage;

/** Patterns of the server's English notes on stages, also of earlier versions, and their translations. Other notes are shown as they are. */
const notes: [RegExp, (...found: string[]) => string][] = [
  [/^searched by (\w+) instead of (\w+)$/, (used, asked) => s.notes.instead(s.modes(used!), s.modes(asked!))],
  [/^kept (\d+) of (\d+) messages$/, (n, of) => s.notes.kept(n!, of!)],
  [/^summ(?:arized|ed up) (\d+) messages$/, (n) => s.notes.summed(n!)],
  [/^(?:an earlier turn's summary covers all messages|the summary of an earlier turn covers all)$/, () => s.notes.covered],
  [/^no questions could be suggested$/, () => s.notes.noQuestions],
];

function noteOf(note: string): string {
  for (const [said, words] of notes) {
    const found = said.exec(note);
    if (found) return words(...found.slice(1));
  }
  return note;
}

export function Thinking({ message }: { message: string }) {
  const conversation = useCell(app.conversation);
  const answer = conversation.messages.find((m) => m.id === message)?.answer;
  const [record, missing] = useRecord(answer);
  const thoughts = record?.thoughts;
  useEffect(app.loadRest, []); // for the totals of the conversation
  if (!answer) return null;
  return (
    <>
      <header class="panel-head">
        <h2>{s.title}</h2>
        <IconButton icon="close" label={strings.close} onClick={app.closePanel} />
      </header>
      <div class="panel-body thinking" tabIndex={0} role="region" aria-label={s.title}>
        <Details answer={answer} />
        <Stages stages={answer.stages} total={answer.duration} />
        {thoughts && <Query thoughts={thoughts} />}
        {thoughts && <Passages thoughts={thoughts} namespace={record.namespace} />}
        {thoughts && thoughts.tools.length > 0 && <Tools thoughts={thoughts} />}
        {(thoughts?.reasoning || answer.reasoning) && (
          <Section title={s.reasoning}><pre class="wrapped">{thoughts?.reasoning || answer.reasoning}</pre></Section>
        )}
        {thoughts?.prompt && <Prompt prompt={thoughts.prompt} />}
        {missing && <p class="soft-note">{missing}</p>}
        <Costs answer={answer} />
        <ConversationTotals />
        {answer.turn && <p class="turn-id">{s.turn} <code>{answer.turn}</code></p>}
      </div>
    </>
  );
}

/** Returns the record of a finished turn, null until it is loaded; and a message if it or its thought process is missing. */
function useRecord(answer: Answer | null | undefined): [TurnRecord | null, string] {
  const [loaded, setLoaded] = useState<TurnRecord | null>(null);
  const [failed, setFailed] = useState("");
  const record = answer?.record ?? loaded;
  const turn = answer && isOver(answer) && !record ? answer.turn : ""; // to load
  useEffect(() => {
    if (!turn) return;
    let left = false;
    api.turn(turn).then((r) => !left && setLoaded(r), (error) => !left && setFailed(toApiError(error).kind === "offline" ? strings.errors.offline : s.notKept));
    return () => {
      left = true;
    };
  }, [turn]);
  return [record, failed || (record && !record.thoughts ? s.notKept : "")];
}

function Section({ title, children, open = true, note }: { title: string; children: preact.ComponentChildren; open?: boolean; note?: string }) {
  return (
    <details class="section" open={open}>
      <summary><h3>{title}</h3>{note && <small>{note}</small>}</summary>
      {children}
    </details>
  );
}

/** Time, tokens, cost and model at a glance. */
function Details({ answer }: { answer: Answer }) {
  const tokens = answer.usage.input_tokens + answer.usage.output_tokens;
  return (
    <Section title={s.details}>
      <dl class="figures details">
        <div><dt>{s.time}</dt><dd>{answer.duration > 0 ? duration(answer.duration) : "–"}</dd></div>
        <div><dt>{s.tokens}</dt><dd>{count(tokens)}</dd></div>
        <div><dt>{s.cost}</dt><dd>{money(answer.cost)}</dd></div>
        {answer.model && <div><dt>{s.model}</dt><dd>{answer.model}</dd></div>}
      </dl>
    </Section>
  );
}

function Stages({ stages, total }: { stages: StageRecord[]; total: number }) {
  const longest = Math.max(1, ...stages.map((x) => x.duration));
  return (
    <Section title={s.steps} note={total > 0 ? duration(total) : undefined}>
      <ol class="stages">
        {stages.map((x, i) => (
          <li key={i} class={x.status}>
            <span class="stage-name">{stageName(x.stage)}{x.agent && <small> {x.agent}</small>}</span>
            <span class="bar" aria-hidden="true"><i style={{ width: `${Math.max(1.5, (100 * x.duration) / longest)}%` }} /></span>
            <span class="stage-time">{x.status === "running" ? s.running : duration(x.duration)}</span>
            {(x.note || x.model) && <small class="stage-note">{[x.model, noteOf(x.note)].filter(Boolean).join(" · ")}</small>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Query({ thoughts }: { thoughts: Thoughts }) {
  const { query, retrieval } = thoughts;
  if (!query) return null;
  return (
    <Section title={s.query}>
      <dl class="pairs">
        <dt>{s.asked}</dt><dd dir="auto">{query.original}</dd>
        <dt>{s.searched}</dt><dd dir="auto">{query.query}{query.rewritten && <small> {s.rewritten(Math.round(query.confidence * 100))}</small>}</dd>
        {query.candidate && <><dt>{s.candidate}</dt><dd dir="auto">{query.candidate}</dd></>}
        {query.reason && (query.rewritten || query.candidate) && <><dt>{s.reason}</dt><dd dir="auto">{query.reason}</dd></>}
        {query.context.length > 0 && <><dt>{s.context}</dt><dd>{query.context.map((c) => `${c.word} ×${digits(c.weight, 2)}`).join(", ")}</dd></>}
        {retrieval && <><dt>{s.mode}</dt><dd>{s.modes(retrieval.mode)}, {s.matched(retrieval.matched)}</dd></>}
      </dl>
      {retrieval && retrieval.terms.length > 0 && (
        <ul class="terms" aria-label={s.terms}>
          {retrieval.terms.map((t, i) => (
            <li key={i} class={t.known ? "" : "unknown"} title={t.known ? s.idf(digits(t.idf, 1)) : s.unknownWord}>{t.word}</li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Passages({ thoughts, namespace }: { thoughts: Thoughts; namespace: string }) {
  const reranked = thoughts.retrieval?.reranked ?? false;
  return (
    <Section title={s.passages} note={s.passageCount(thoughts.passages.length)}>
      {thoughts.passages.length === 0 && <p class="soft-note">{s.noPassages}</p>}
      <ol class="passages">
        {thoughts.passages.map((p) => <OnePassage key={p.n} passage={p} reranked={reranked} namespace={namespace} />)}
      </ol>
    </Section>
  );
}

function OnePassage({ passage: p, reranked, namespace }: { passage: PassageRecord; reranked: boolean; namespace: string }) {
  const show = () => (app.panel.value = { kind: "document", id: p.document_id, namespace, name: p.title || p.name, page: p.pages[0] ?? 0 });
  return (
    <li>
      <details>
        <summary>
          <span class="passage-title">{p.title || p.name}{p.pages.length > 0 && p.pages[0]! > 0 && <small> {strings.chat.page(p.pages[0]!)}</small>}</span>
          <span class="passage-scores">
            <b>{score(p.score)}</b>
            {!p.sent && <small>{s.notSent}</small>}
          </span>
        </summary>
        <p class="passage-detail">
          {[reranked && s.before(p.rank_before, score(p.score_before)), p.bm25 !== null && `BM25 ${score(p.bm25)}`, p.vector !== null && `${s.vector} ${score(p.vector)}`, p.rerank !== null && `${s.rerank} ${score(p.rerank)}`, strings.chat.tokens(p.tokens)].filter(Boolean).join(" · ")}
          {p.headings.length > 0 && <><br />{p.headings.join(" › ")}</>}
        </p>
        <blockquote>{p.text}</blockquote>
        <button type="button" class="quiet small" onClick={show}>{s.openPage}</button>
      </details>
    </li>
  );
}

function Tools({ thoughts }: { thoughts: Thoughts }) {
  return (
    <Section title={s.tools}>
      {thoughts.tools.map((t, i) => (
        <details key={i} class="tool">
          <summary>{t.name} <small>{duration(t.duration)}{t.failed && ` · ${s.failed}`}</small></summary>
          <pre class="wrapped">{t.arguments}</pre>
          <pre class="wrapped">{t.text}</pre>
        </details>
      ))}
    </Section>
  );
}

function Prompt({ prompt }: { prompt: NonNullable<Thoughts["prompt"]> }) {
  return (
    <Section title={s.prompt} open={false} note={prompt.model}>
      {prompt.messages.length === 0 && <p class="soft-note">{s.noPrompt}</p>}
      {prompt.messages.map((m, i) => (
        <figure key={i} class="prompt">
          <figcaption>{m.role}{m.images > 0 && ` · ${s.images(m.images)}`}</figcaption>
          <pre class="wrapped">{m.text}</pre>
        </figure>
      ))}
    </Section>
  );
}

function Costs({ answer }: { answer: Answer }) {
  if (answer.calls.length === 0) return null;
  return (
    <Section title={s.costs}>
      <div class="table-scroll" tabIndex={0} role="region" aria-label={s.costs}>
        <table>
          <thead>
            <tr><th scope="col">{s.stage}</th><th scope="col">{s.model}</th><th scope="col" class="align-right">{s.input}</th><th scope="col" class="align-right">{s.output}</th><th scope="col" class="align-right">{s.cost}</th></tr>
          </thead>
          <tbody>
            {answer.calls.map((c, i) => (
              <tr key={i}>
                <th scope="row">{stageName(c.stage)}</th><td>{c.model}</td>
                <td class="align-right">{count(c.usage.input_tokens)}</td><td class="align-right">{count(c.usage.output_tokens)}</td><td class="align-right">{money(c.cost)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={2}>{s.total}{answer.usage.estimated && <small> {s.estimated}</small>}</th>
              <td class="align-right">{count(answer.usage.input_tokens)}</td><td class="align-right">{count(answer.usage.output_tokens)}</td><td class="align-right">{money(answer.cost)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </Section>
  );
}

function ConversationTotals() {
  const t = totalsOf(useCell(app.conversation));
  return (
    <Section title={s.conversation}>
      <dl class="figures">
        <div><dt>{s.turns}</dt><dd>{count(t.turns)}</dd></div>
        <div><dt>{s.input}</dt><dd>{count(t.input)}</dd></div>
        <div><dt>{s.output}</dt><dd>{count(t.output)}</dd></div>
        <div><dt>{s.cost}</dt><dd>{money(t.cost)}{t.unknown && <small> {s.plusUnknown}</small>}</dd></div>
      </dl>
    </Section>
  );
}
