// The embedded chat: questions, answers with their sources, and a field for questions.
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useCell } from "../cell.ts";
import type { Message } from "../conversation.ts";
import { documentHref } from "../markdown/parse.ts";
import { plainText } from "../markdown/plain.ts";
import { Markdown } from "../markdown/render.tsx";
import { Icon, IconButton, Spinner } from "../parts/controls.tsx";
import { strings } from "./strings.ts";
import { isOver, labelsOf, type Answer } from "../turnstate.ts";
import type { Citation } from "../types.ts";
import * as thread from "./thread.ts";

interface Props {
  collection: string;
  title: string;
  greeting: string;
  closable: boolean;
}

const tell = (type: "parley:ready" | "parley:close"): void => {
  if (parent !== window) parent.postMessage({ type }, "*"); // any origin: the message says nothing about the visitor
};

export function Chat({ collection, title, greeting, closable }: Props) {
  const messages = useCell(thread.messages);
  const list = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const ask = (text: string) => thread.ask(text, collection);
  useEffect(() => {
    const heard = ({ source, data }: MessageEvent<{ type?: unknown; text?: unknown } | null>) => {
      if (source !== parent) return;
      if (data?.type === "parley:focus") field.current?.focus();
      if (data?.type === "parley:ask" && typeof data.text === "string") ask(data.text);
    };
    const keys = (event: KeyboardEvent) => event.key === "Escape" && closable && tell("parley:close");
    addEventListener("message", heard);
    addEventListener("keydown", keys);
    thread.takeUp();
    tell("parley:ready");
    return () => {
      removeEventListener("message", heard);
      removeEventListener("keydown", keys);
    };
  }, []);
  // Scroll a new question to the top; the answer grows below it.
  useEffect(() => list.current?.querySelector(".message.user:nth-last-child(2)")?.scrollIntoView({ block: "start" }), [messages.length]);
  const last = messages.at(-1);
  return (
    <div class="embedded">
      <header class="embed-head">
        <h1 dir="auto">{title || strings.embed.title}</h1>
        {messages.length > 0 && <IconButton icon="plus" label={strings.chat.newChat} onClick={() => { thread.begin(); field.current?.focus(); }} />}
        {closable && <IconButton icon="close" label={strings.close} onClick={() => tell("parley:close")} />}
      </header>
      <main class="embed-main">
      <div class="embed-thread" ref={list} tabIndex={0} role="region" aria-label={strings.chat.conversation}>
        <p class="embed-greeting" dir="auto">{greeting || strings.embed.greeting}</p>
        {messages.map((m) => (
          <div key={m.id} class={`message ${m.role}`}>
            {m.answer ? <AnswerCard message={m} answer={m.answer} last={m === last} ask={ask} again={() => thread.askAgain(collection)} /> : <p class="bubble" dir="auto">{m.text}</p>}
          </div>
        ))}
      </div>
      <Composer field={field} ask={ask} busy={thread.isBusy()} />
      </main>
      <div class="offscreen" aria-live="polite">{last?.answer && isOver(last.answer) ? strings.chat.answered(plainText(last.answer.text)) : ""}</div>
    </div>
  );
}

interface AnswerProps {
  message: Message;
  answer: Answer;
  last: boolean;
  ask: (text: string) => void;
  again: () => void;
}

function AnswerCard({ message, answer, last, ask, again }: AnswerProps) {
  const over = isOver(answer);
  const known = answer.citations.map((c) => c.label).join("\n") + "\n\n" + answer.labels.join("\n");
  const labels = useMemo(() => labelsOf(answer), [known]);
  const chip = (label: string, key: string): VNode => {
    const citation = answer.citations.find((c) => c.label === label);
    if (!citation) return <span key={key} class="chip pending">·</span>;
    const name = strings.chat.citation(citation.n, citation.title || citation.name, citation.page);
    return <a key={key} class="chip" href={`#${sourceID(message, citation)}`} aria-label={name} title={name} onClick={toSource}>{citation.n}</a>;
  };
  return (
    <article class={`answer ${over ? "" : "at-work"}`} aria-label={strings.chat.answer} aria-busy={!over}>
      <Markdown text={answer.text} labels={labels} chip={chip} version={known} />
      {!over && !answer.text && <span class="doing"><Spinner label={strings.chat.working} /><span>{strings.stages.retrieve}</span></span>}
      {answer.status === "reconnecting" && <p class="note">{strings.chat.reconnecting}</p>}
      {answer.status === "cancelled" && <p class="note">{strings.chat.stopped}</p>}
      {over && answer.finish === "length" && <p class="note">{strings.chat.cutOff}</p>}
      {answer.status === "failed" && <Failure answer={answer} again={last ? again : undefined} />}
      {over && answer.citations.length > 0 && (
        <ul class="sources" aria-label={strings.chat.sources}>
          {answer.citations.map((c) => <li key={c.label}><Source id={sourceID(message, c)} citation={c} /></li>)}
        </ul>
      )}
      {over && last && answer.followUps.length > 0 && (
        <ul class="follow-ups" aria-label={strings.chat.followUps}>
          {answer.followUps.map((q) => <li key={q}><button type="button" dir="auto" onClick={() => ask(q)}>{q}</button></li>)}
        </ul>
      )}
    </article>
  );
}

const sourceID = (message: Message, c: Citation): string => `source-${message.id}-${c.n}`;

/** Scrolls to the source below the answer, without changing the address of the frame. */
function toSource(event: MouseEvent): void {
  event.preventDefault();
  const id = (event.currentTarget as HTMLAnchorElement).hash.slice(1);
  const source = document.getElementById(decodeURIComponent(id));
  source?.scrollIntoView({ block: "nearest" });
  source?.focus({ preventScroll: true });
}

/** A source, with a link to the web page it was read from, or else to the original file. */
function Source({ id, citation: c }: { id: string; citation: Citation }) {
  const href = documentHref(c.url) || documentHref(c.content_url);
  const quoted = plainText(c.quote || c.passage).slice(0, 240);
  const inner = (
    <>
      <span class="source-head">
        <span class="n">{c.n}</span>
        <span class="title" dir="auto">{c.title || c.name}</span>
        {c.page > 0 && <span class="page">{strings.chat.page(c.page)}</span>}
      </span>
      <span class="quoted" dir="auto">{quoted}</span>
      {!c.supported && <span class="warn">{strings.chat.unsupported}</span>}
    </>
  );
  return href ? <a id={id} class="source" href={href} target="_blank" rel="noopener noreferrer">{inner}</a> : <div id={id} class="source" tabIndex={-1}>{inner}</div>;
}

function Failure({ answer, again }: { answer: Answer; again?: () => void }) {
  const kind = (answer.error?.kind ?? "failed") as keyof typeof strings.failures;
  const words = strings.failures[kind] ?? strings.failures.failed;
  return (
    <div class="failure" role="alert">
      <Icon name="warn" />
      <div>
        <strong>{words.title}</strong>
        <p>{words.text}</p>
        {answer.error?.retryAfter ? <p>{strings.retryIn(answer.error.retryAfter)}</p> : null}
        {again && <p class="actions"><button type="button" onClick={again}><Icon name="retry" />{strings.tryAgain}</button></p>}
      </div>
    </div>
  );
}

function Composer({ field, ask, busy }: { field: { current: HTMLTextAreaElement | null }; ask: (text: string) => void; busy: boolean }) {
  const [text, setText] = useState("");
  const send = () => {
    if (!text.trim() || busy) return;
    ask(text);
    setText("");
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form class="embed-composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
      <textarea
        id="question" ref={field} rows={1} maxLength={4000} value={text} dir="auto" aria-label={strings.embed.question} placeholder={strings.embed.question}
        onInput={(e) => setText(e.currentTarget.value)} onKeyDown={keys}
      />
      {busy ? <IconButton icon="stop" label={strings.chat.stop} onClick={thread.stop} /> : <IconButton icon="send" label={strings.chat.send} class="send" disabled={!text.trim()} onClick={send} />}
      <p class="embed-hint">{strings.chat.mayErr}</p>
    </form>
  );
}
