// The conversation: its messages, and where to ask.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { memo } from "../parts/memo.tsx";
import { drawNow } from "../parts/now.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { pathOf, type Message, type Shown } from "../conversation.ts";
import { CopyButton, Icon, IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { useDrop } from "../parts/drop.ts";
import { AnswerView } from "./answer.tsx";
import { attach } from "./attachments.tsx";
import { Composer } from "./composer.tsx";
import { Welcome } from "./welcome.tsx";
import { Versions } from "./versions.tsx";

const s = strings.chat;

export function ChatView() {
  const conversation = useCell(app.conversation);
  const loading = useCell(app.loading);
  const path = useMemo(() => pathOf(conversation), [conversation]);
  const [over, drop] = useDrop(attach);
  return (
    <div class={`chat ${over > 0 ? "dropping" : ""}`} {...drop}>
      <h1 class="offscreen">{conversation.title || s.newChat}</h1>
      <Messages key={conversation.id ? "stored" : "new"} id={conversation.id} path={path} loading={loading} />
      <div class="composer-dock">
        {over > 0 && <p class="drop-note" aria-hidden="true"><Icon name="upload" />{strings.documents.drop}</p>}
        <Composer path={path} />
      </div>
    </div>
  );
}

const nearEnd = 80; // px from the end that count as being there
const group = 20; // messages that are put into the page at a time
const idleMessages = 200; // that come into the page without being asked for; earlier ones come when somebody scrolls to them
const nearStart = 1500; // px from the first message that count as having scrolled to it

function Messages({ id, path, loading }: { id: string; path: Shown[]; loading: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const [first, more] = useFirst(id, path.length);
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
    if (first > 0 && el.scrollTop < nearStart) more();
  };
  return (
    <div class="messages" ref={scroller} onScroll={scrolled} tabIndex={-1}>
      {path.length === 0 ? (
        <Welcome loading={loading} />
      ) : (
        <div class="thread" role="log" aria-live="off" aria-label={s.conversation}>
          {first > 0 && <button type="button" class="quiet earlier" onClick={more}>{s.earlier(first)}</button>}
          {groupsOf(path, first).map((g) => <Group key={`${g.at}`} at={g.at} shown={g.shown} length={path.length} />)}
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

/**
 * The first message that is in the page, and what takes in earlier ones. A long conversation comes in from its end,
 * while there is nothing else to do; the start of a very long one only when it is wanted.
 */
function useFirst(id: string, length: number): [number, () => void] {
  const [shown, setShown] = useState({ id, count: 2 * group });
  const count = shown.id === id ? shown.count : 2 * group;
  const more = () => setShown({ id, count: count + group });
  useEffect(() => {
    if (count >= Math.min(length, idleMessages)) return;
    if ("requestIdleCallback" in window) {
      const handle = requestIdleCallback(more, { timeout: 500 });
      return () => cancelIdleCallback(handle);
    }
    const timer = setTimeout(more, 50);
    return () => clearTimeout(timer);
  }, [id, count, length]);
  useEffect(() => {
    const all = () => drawNow(() => setShown({ id, count: length }));
    addEventListener("beforeprint", all);
    return () => removeEventListener("beforeprint", all);
  }, [id, length]);
  return [Math.max(0, Math.floor((length - count) / group) * group), more];
}

interface GroupProps {
  at: number;
  shown: Shown[];
  length: number; // of the whole path
}

const Group = memo<GroupProps>(
  ({ at, shown, length }) => (
    <div class={`group ${at + group >= length ? "last" : ""}`}>
      {shown.map(({ message, siblings }, i) => (
        <OneMessage key={message.id} message={message} siblings={siblings} last={at + i === length - 1} />
      ))}
    </div>
  ),
  (a, b) => isInLast(a) === isInLast(b) && a.shown.length === b.shown.length && a.shown.every((x, i) => isSame(x, b.shown[i]!)),
);

const isInLast = (g: GroupProps) => g.at + group >= g.length;
const isSame = (a: Shown, b: Shown) => a.message === b.message && a.siblings.join() === b.siblings.join();

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
      <div class="bubble" dir="auto">{message.text}</div>
      <div class="question-foot">
        <Versions id={message.id} parent={message.parent} siblings={siblings} />
        <CopyButton text={message.text} label={s.copyQuestion} />
        <IconButton icon="edit" label={s.edit} onClick={() => app.edit(message)} />
      </div>
    </section>
  );
}
