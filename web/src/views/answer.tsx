// An answer: its progress, its text with citations, and its actions.
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { citedText, type Message } from "../conversation.ts";
import { duration } from "../format.ts";
import { Markdown, type Chips } from "../markdown/render.tsx";
import { plainText } from "../markdown/plain.ts";
import { answering, listed, modelName } from "../models.ts";
import { CopyButton, Icon, IconButton, Menu, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { isOver, labelsOf, type Answer } from "../turnstate.ts";
import type { Citation } from "../types.ts";
import { Doubts } from "./doubts.tsx";
import { Reasons, Thumbs } from "./feedback.tsx";
import { tip } from "./tip.tsx";
import { Versions } from "./versions.tsx";

const s = strings.chat;

interface Props {
  message: Message;
  siblings: string[];
  last: boolean;
}

export function AnswerView({ message, siblings, last }: Props) {
  const answer = message.answer!;
  const over = isOver(answer);
  const config = app.config.value;
  return (
    <article class={`answer ${over ? "" : "at-work"}`} aria-label={s.answer} aria-busy={!over}>
      {!over && <Steps answer={answer} />}
      <AnswerText answer={answer} />
      {!over && <Doing answer={answer} />}
      {answer.status === "cancelled" && <p class="note">{s.stopped}</p>}
      {over && answer.finish === "length" && <CutOff message={message} last={last} />}
      {answer.status === "failed" && <Failure message={message} last={last} />}
      {answer.status === "completed" && answer.found === 0 && !config?.ingestion.running && (
        <p class="note nothing">{s.nothingFound} <a href="#/documents">{s.seeDocuments}</a></p>
      )}
      {over && <Doubts answer={answer} />}
      {over && answer.citations.length > 0 && <Sources answer={answer} />}
      {over && <Foot message={message} siblings={siblings} last={last} />}
      {over && last && <FollowUps questions={answer.followUps} />}
    </article>
  );
}

/** The text of an answer, with citations as chips. */
export function AnswerText({ answer }: { answer: Answer }) {
  const known = answer.citations.map((c) => c.label).join("\n") + "\n\n" + (isOver(answer) ? "" : answer.labels.join("\n"));
  const labels = useMemo(() => labelsOf(answer), [known]);
  const version = useMemo(() => ({}), [known, isOver(answer), answer.doubts.length]);
  return <Markdown text={answer.text} labels={labels} chip={chipsOf(answer)} version={version} />;
}

/** Returns the function that renders citations as chips, with the number of the citation. */
function chipsOf(answer: Answer): Chips {
  const order = numbers(answer);
  return (label, key): VNode => {
    const citation = answer.citations.find((c) => c.label === label);
    const n = citation?.n ?? order.get(label) ?? 0;
    return <Chip key={key} label={label} place={key} n={n} citation={citation} />;
  };
}

/** Numbers labels in the order of their first occurrence in the text, until the citations are known. */
function numbers(answer: Answer): Map<string, number> {
  const order = new Map<string, number>();
  if (answer.citations.length > 0) return order;
  const places = answer.labels.map((label) => ({ label, at: answer.text.indexOf(`[${label}]`) })).filter((p) => p.at >= 0);
  places.sort((a, b) => a.at - b.at).forEach((p) => order.set(p.label, order.size + 1));
  return order;
}

function Chip({ label, place, n, citation }: { label: string; place: string; n: number; citation?: Citation }) {
  if (!citation) return <span class="chip pending">{n || "·"}</span>;
  const doubtful = !citation.supported;
  const name = s.citation(n, citation.title || citation.name, citation.page) + (doubtful ? `. ${s.unsupported}` : "");
  const open = (event: MouseEvent) => {
    tip.close();
    const chip = event.currentTarget as HTMLElement;
    openCitation(citation, occurrenceOf(chip, label), claimOf(chip));
  };
  return (
    <button
      type="button" class={`chip ${doubtful ? "doubtful" : ""} ${citation.stale ? "stale" : ""}`} data-label={label} data-place={place}
      aria-label={name} onClick={open}
      onPointerEnter={(e) => tip.enter(e, citation)} onPointerLeave={() => tip.hide()}
      onFocus={(e) => tip.focus(e.currentTarget, citation)} onBlur={() => tip.blur()}
    >
      {n}
      {doubtful && <span aria-hidden="true">?</span>}
    </button>
  );
}

/** Returns the zero-based index of a chip among the chips of the same label in its answer. */
function occurrenceOf(chip: HTMLElement, label: string): number {
  const all = [...(chip.closest(".markdown")?.querySelectorAll<HTMLElement>(".chip") ?? [])];
  return Math.max(0, all.filter((c) => c.dataset["label"] === label).indexOf(chip));
}

/** Returns the text of the paragraph, list item, cell or heading around a chip, without chips. */
function claimOf(chip: HTMLElement): string {
  const copy = chip.closest("p, li, td, h3, h4, h5, h6")?.cloneNode(true) as HTMLElement | undefined;
  for (const other of copy?.querySelectorAll(".chip") ?? []) other.replaceWith(" ");
  return copy?.textContent ?? "";
}

/** Opens a source in the panel, at the words cited by the given occurrence of its label; -1 for none in particular. */
function openCitation(citation: Citation, occurrence: number, claim: string): void {
  app.panel.value = { kind: "source", citation, occurrence, claim };
}

const stageName = (stage: string): string => strings.stages[stage as keyof typeof strings.stages] ?? stage;

/** The finished steps, shown while the answer is in progress. */
function Steps({ answer }: { answer: Answer }) {
  const finished = answer.stages.filter((x) => x.stage !== "history" && x.status === "finished");
  if (finished.length === 0) return null;
  return (
    <ol class="steps" aria-label={s.stepsDone}>
      {finished.map((x, i) => <li key={i}>{stageName(x.stage)} <small>{duration(x.duration)}</small></li>)}
      {answer.found >= 0 && <li>{s.found(answer.found)}</li>}
    </ol>
  );
}

/** The current step. It is below the text, since that is where people look. */
function Doing({ answer }: { answer: Answer }) {
  const running = answer.stages.findLast((x) => x.status === "running")?.stage ?? answer.step;
  const doing = answer.status === "reconnecting" ? s.reconnecting : answer.text && running === "generate" ? s.writing : stageName(running) || s.asking;
  return (
    <span class={`doing ${answer.status}`}>
      <Spinner label={s.working} />
      <span>{doing}</span>
    </span>
  );
}

/** The note on an answer that was cut off by its length limit. */
function CutOff({ message, last }: { message: Message; last: boolean }) {
  const busy = useCell(app.busy);
  return (
    <div class="cut-off" role="note">
      <p><Icon name="warn" />{s.cutOff}</p>
      {last && (
        <p class="actions">
          <button type="button" disabled={busy} onClick={() => void app.continueAnswer(message)}>{s.continueAnswer}</button>
          <button type="button" disabled={busy} onClick={() => void app.answerLonger(message)}>{s.answerLonger}</button>
        </p>
      )}
    </div>
  );
}

/** The kinds of failure that another model or setting may avoid. */
const modelMayDiffer = new Set<string>(["key", "invalid", "refusedKey", "noCredit", "noModel"]);

function Failure({ message, last }: { message: Message; last: boolean }) {
  const error = message.answer!.error;
  const kind = (error?.kind ?? "failed") as keyof typeof strings.failures;
  const words = strings.failures[kind] ?? strings.failures.failed;
  return (
    <div class="failure" role="alert">
      <Icon name="warn" />
      <div>
        <strong>{words.title}</strong>
        <p>{words.text}</p>
        {error?.message && <p class="said">{error.message}</p>}
        {error?.retryAfter ? <p>{strings.retryIn(error.retryAfter)}</p> : null}
        {last && (
          <p class="actions">
            <button type="button" onClick={() => void app.retry(message)}>
              <Icon name="retry" />
              {s.retry}
            </button>
            {modelMayDiffer.has(kind) && <a href="#/settings">{s.openSettings}</a>}
          </p>
        )}
      </div>
    </div>
  );
}

const sourcesAtFirst = 4;

/** The sources as cards with the cited words. */
export function Sources({ answer }: { answer: Answer }) {
  const [all, setAll] = useState(false);
  const shown = all || answer.citations.length <= sourcesAtFirst + 1 ? answer.citations : answer.citations.slice(0, sourcesAtFirst);
  return (
    <div class="source-cards">
      <ul class="sources" aria-label={s.sources}>
        {shown.map((c) => (
          <li key={c.label}>
            <button type="button" class={`source ${c.supported ? "" : "doubtful"}`} onClick={() => openCitation(c, -1, answer.text)}>
              <span class="source-head">
                <span class="n">{c.n}</span>
                <span class="title" dir="auto">{c.title || c.name}</span>
                {c.page > 0 && <span class="page">{s.page(c.page)}</span>}
              </span>
              <span class="quoted" dir="auto">{plainText(c.quote || c.passage).slice(0, 240)}</span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length < answer.citations.length && <button type="button" class="quiet small" onClick={() => setAll(true)}>{s.allSources(answer.citations.length)}</button>}
    </div>
  );
}

function Foot({ message, siblings, last }: Props) {
  const answer = message.answer!;
  const busy = useCell(app.busy);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <footer class="answer-foot">
        <Versions id={message.id} parent={message.parent} siblings={siblings} />
        {answer.text && <CopyButton text={citedText(answer, s.source)} label={s.copyAnswer} />}
        {answer.text && <ReadAloud text={answer.text} />}
        {answer.text && <Thumbs message={message} asking={asking} ask={setAsking} />}
        {last && answer.status !== "failed" && <Regenerate message={message} busy={busy} />}
        {answer.turn !== "" || answer.stages.length > 0 ? <Process message={message} /> : null}
      </footer>
      {asking && <Reasons message={message} close={() => setAsking(false)} />}
    </>
  );
}

const Speaker = "speechSynthesis" in window ? window.speechSynthesis : null;

/** A button that reads an answer aloud, if the browser can. */
function ReadAloud({ text }: { text: string }) {
  const [on, setOn] = useState(false);
  useEffect(() => () => {
    if (on) Speaker?.cancel();
  }, [on]);
  if (!Speaker) return null;
  const read = () => {
    Speaker.cancel();
    const said = new SpeechSynthesisUtterance(plainText(text.replace(/\[[^\]]*#page=\d+\]/g, "")));
    said.onend = said.onerror = () => setOn(false);
    Speaker.speak(said);
    setOn(true);
  };
  return <IconButton icon={on ? "stop" : "sound"} label={on ? s.stopReading : s.readAloud} pressed={on} onClick={() => (on ? setOn(false) : read())} />;
}

/** A button or menu that regenerates the answer, with the same or another model. */
function Regenerate({ message, busy }: { message: Message; busy: boolean }) {
  const config = useCell(app.config);
  useCell(listed);
  const others = answering(config).filter((key) => key !== message.answer!.model).slice(0, mostModels);
  if (others.length === 0 || busy) return <IconButton icon="retry" label={s.retry} disabled={busy} onClick={() => void app.retry(message)} />;
  return (
    <Menu label={s.retry} icon="retry" items={[
      { icon: "retry", label: s.again, run: () => void app.retry(message) },
      ...others.map((key) => ({ icon: "bulb" as const, label: s.retryWith(modelName(key)), run: () => void app.retry(message, key) })),
    ]} />
  );
}

const mostModels = 8; // in a menu

/** A button that opens the panel on how the answer was made, and what it cost. */
function Process({ message }: { message: Message }) {
  return (
    <button type="button" class="quiet thinking-button" onClick={() => (app.panel.value = { kind: "thinking", message: message.id })}>
      <Icon name="bulb" />
      <span>{s.thinking}</span>
    </button>
  );
}

function FollowUps({ questions }: { questions: string[] }) {
  if (questions.length === 0) return null;
  return (
    <ul class="follow-ups" aria-label={s.followUps}>
      {questions.map((q) => (
        <li key={q}>
          <button type="button" dir="auto" onClick={() => void app.ask(q)}>
            {q}
          </button>
        </li>
      ))}
    </ul>
  );
}
