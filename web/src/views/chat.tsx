// The conversation: its messages, and where to ask.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { memo } from "../parts/memo.tsx";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { pathOf, type Message, type Shown } from "../conversation.ts";
import { CopyButton, EmptyState, Icon, IconButton, Spinner } from "../parts/controls.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import { AnswerView } from "./answer.tsx";
import { Composer } from "./composer.tsx";
import { NamespaceSelect } from "./documents.tsx";
import { Problems } from "./problems.tsx";
import { Versions } from "./versions.tsx";

const s = strings.chat;

export function ChatView() {
  const conversation = useCell(app.conversation);
  const loading = useCell(app.loading);
  const path = useMemo(() => pathOf(conversation), [conversation]);
  return (
    <div class="chat">
      <h1 class="offscreen">{conversation.title || s.newChat}</h1>
      <Messages key={conversation.id ? "stored" : "new"} id={conversation.id} path={path} loading={loading} />
      <div class="composer-dock">
        <Composer path={path} />
      </div>
    </div>
  );
}

const nearEnd = 80; // px from the end that count as being there
const group = 20; // messages that are put into the page at a time

function Messages({ id, path, loading }: { id: string; path: Shown[]; loading: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const first = useFirst(id, path.length);
  const toEnd = () => {
    const el = scroller.current;
    if (el) el.scrollTop = el.scrollHeight;
  };
  useLayoutEffect(() => {
    if (atEnd.current) toEnd();
  });
  useEffect(() => {
    atEnd.current = true;
    toEnd();
  }, [id, path.length]);
  const scrolled = () => {
    const el = scroller.current!;
    atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < nearEnd;
    setAway(!atEnd.current);
  };
  return (
    <div class="messages" ref={scroller} onScroll={scrolled} tabIndex={-1}>
      {path.length === 0 ? (
        <Welcome loading={loading} />
      ) : (
        <div class="thread" role="log" aria-live="off" aria-label={s.conversation}>
          {groupsOf(path, first).map((g) => (
            <div key={g.at} class={`group ${g.at + group >= path.length ? "last" : ""}`}>
              {g.shown.map((shown, i) => (
                <OneMessage key={shown.message.id} message={shown.message} siblings={shown.siblings} last={g.at + i === path.length - 1} />
              ))}
            </div>
          ))}
        </div>
      )}
      {away && (
        <button type="button" class="to-end" onClick={() => { toEnd(); }} aria-label={s.toEnd} title={s.toEnd}>
          <Icon name="up" />
        </button>
      )}
    </div>
  );
}

/** Messages in groups, so that the browser can pass over many at a time. `first` is the beginning of one. */
function groupsOf(path: Shown[], first: number): { at: number; shown: Shown[] }[] {
  const groups = [];
  for (let at = first; at < path.length; at += group) groups.push({ at, shown: path.slice(at, at + group) });
  return groups;
}

/** The first message that is in the page: a long conversation comes into it from its end, while nothing else is to do. */
function useFirst(id: string, length: number): number {
  const [shown, setShown] = useState({ id, count: 2 * group });
  const count = shown.id === id ? shown.count : 2 * group;
  useEffect(() => {
    if (count >= length) return;
    const more = () => setShown({ id, count: count + group });
    if ("requestIdleCallback" in window) {
      const handle = requestIdleCallback(more, { timeout: 500 });
      return () => cancelIdleCallback(handle);
    }
    const timer = setTimeout(more, 50);
    return () => clearTimeout(timer);
  }, [id, count, length]);
  return Math.max(0, Math.floor((length - count) / group) * group);
}

interface MessageProps {
  message: Message;
  siblings: string[];
  last: boolean;
}

const OneMessage = memo<MessageProps>(
  ({ message, siblings, last }) => (
    <div class={`message ${message.role} ${last ? "last" : ""}`} data-id={message.id}>
      {message.role === "user" ? <QuestionView message={message} siblings={siblings} /> : <AnswerView message={message} siblings={siblings} last={last} />}
    </div>
  ),
  (a, b) => a.message === b.message && a.last === b.last && a.siblings.join() === b.siblings.join(),
);

function QuestionView({ message, siblings }: { message: Message; siblings: string[] }) {
  const editing = useCell(app.editing);
  return (
    <section class={`question ${editing?.id === message.id ? "editing" : ""}`} aria-label={s.question}>
      <div class="bubble">{message.text}</div>
      <div class="question-foot">
        <Versions id={message.id} parent={message.parent} siblings={siblings} />
        <CopyButton text={message.text} label={s.copyQuestion} />
        <IconButton icon="edit" label={s.edit} onClick={() => edit(message)} />
      </div>
    </section>
  );
}

export function edit(message: Message): void {
  app.editing.value = message;
  app.draft.value = message.text;
  app.focusComposer();
}

function Welcome({ loading }: { loading: string }) {
  const config = useCell(app.config);
  const namespaces = useCell(app.namespaces);
  const chosen = useCell(choices).namespace;
  const online = useCell(app.online);
  const reachable = useCell(app.reachable);
  if (loading === "loading") return <div class="centered"><Spinner label={s.loading} /></div>;
  if (loading === "missing") return <EmptyState icon="chat" title={s.missing} actions={<button type="button" class="primary" onClick={app.begin}>{s.newChat}</button>}>{s.missingText}</EmptyState>;
  if (loading === "failed") return <EmptyState icon="warn" title={s.notLoaded} actions={<button type="button" class="primary" onClick={() => void app.reopen()}>{strings.tryAgain}</button>}>{s.notLoadedText}</EmptyState>;
  const count = namespaces.find((n) => n.name === (chosen || config?.namespace))?.documents ?? config?.documents ?? 0;
  if (config && count === 0 && !config.ingestion.running) {
    const elsewhere = namespaces.some((n) => n.documents > 0);
    return (
      <EmptyState icon="files" title={elsewhere ? s.noDocumentsIn(chosen || config.namespace) : s.noDocuments} actions={<a class="button primary" href="#/documents">{s.addDocuments}</a>}>
        <p>{elsewhere ? s.documentsElsewhere : s.noDocumentsText}</p>
        {elsewhere && <NamespaceSelect />}
      </EmptyState>
    );
  }
  return (
    <div class="welcome">
      <div class="welcome-mark" aria-hidden="true"><Mark /></div>
      <h2>{s.welcome}</h2>
      <p>{config ? s.welcomeText(count) : online && reachable ? s.welcomeWait : strings.failures.offline.text}</p>
      <Problems />
      <ul class="hints">
        {s.hints.map(([key, text]) => (
          <li key={key}><kbd>{key}</kbd> {text}</li>
        ))}
      </ul>
    </div>
  );
}

/** Parley's mark: two voices. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" class="mark" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M9 10.5h9.5a3.5 3.5 0 0 1 0 7H13l-4 3.5z" class="mark-first" />
      <path d="M23 16.5v8l-3.2-3H15.5" class="mark-second" />
    </svg>
  );
}
