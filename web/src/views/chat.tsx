// The conversation: its messages, and the composer.
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
      <Messages key={conversation.id ? "stored" : "new"} id={conversation.id} path={path} earlier={conversation.earlier?.count ?? 0} loading={loading} />
      <div class="composer-dock">
        {over > 0 && <p class="drop-note" aria-hidden="true"><Icon name="upload" />{strings.documents.drop}</p>}
        <Composer path={path} />
      </div>
    </div>
  );
}

const nearEnd = 80; // px from the end that count as being at the end
const group = 20; // messages that are added to the page at a time
const idleMessages = 200; // messages that are added while the browser is idle; earlier ones only when the user scrolls up to them
const nearStart = 1500; // px from the first message that count as scrolled up to it

interface MessagesProps {
  id: string;
  path: Shown[];
  earlier: number; // messages before the path that are not loaded yet
  loading: string;
}

function Messages({ id, path, earlier, loading }: MessagesProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const start = useStart(id, path);
  const end = start + path.length;
  const [first, more] = useFirst(id, start, end, earlier);
  const hidden = first - start + earlier;
  const top = useRef({ first, id: "" }); // the first message at the last rendering
  const toEnd = () => {
    const el = scroller.current;
    if (el) el.scrollTop = el.scrollHeight;
  };
  useLayoutEffect(() => {
    const el = scroller.current!;
    if (atEnd.current) toEnd();
    else if (first < top.current.first && el.scrollTop === 0) { // at other positions, the browser keeps the place itself
      const was = el.querySelector(`[data-id="${CSS.escape(top.current.id)}"]`);
      if (was) el.scrollTop = was.getBoundingClientRect().top - el.getBoundingClientRect().top;
    }
    top.current = { first, id: path[first - start]?.message.id ?? "" };
  });
  useEffect(() => {
    atEnd.current = true;
    toEnd();
  }, [id, end]);
  const scrolled = () => {
    const el = scroller.current!;
    atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < nearEnd;
    setAway(!atEnd.current);
    if (hidden > 0 && el.scrollTop < nearStart) more();
  };
  return (
    <div class="messages" ref={scroller} onScroll={scrolled} tabIndex={-1}>
      {path.length === 0 ? (
        <Welcome loading={loading} />
      ) : (
        <div class="thread" role="log" aria-live="off" aria-label={s.conversation}>
          {hidden > 0 && <button type="button" class="quiet earlier" onClick={() => more(true)}>{s.earlier(hidden)}</button>}
          {groupsOf(path, start, first).map((g) => <Group key={`${g.n}`} shown={g.shown} last={g.last} />)}
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

/**
 * Returns the number of the path's first message: 0, or negative once earlier messages have been loaded, so that the others keep their numbers.
 */
function useStart(id: string, path: Shown[]): number {
  const begun = useRef({ id, message: "" });
  if (begun.current.id !== id || !begun.current.message) begun.current = { id, message: path[0]?.message.id ?? "" };
  return Math.min(0, -path.findIndex((x) => x.message.id === begun.current.message));
}

/** Splits messages into groups, which the browser skips as a whole while they are out of sight. */
function groupsOf(path: Shown[], start: number, first: number): { n: number; shown: Shown[]; last: boolean }[] {
  const groups = [];
  const end = start + path.length;
  for (let at = first; at < end; ) {
    const n = Math.floor(at / group);
    const next = Math.min((n + 1) * group, end);
    groups.push({ n, shown: path.slice(at - start, next - start), last: next === end });
    at = next;
  }
  return groups;
}

/**
 * Returns the number of the first message in the page, and a function that adds earlier ones. A long conversation is added
 * from its end while the browser is idle; the start of a very long one only when the user wants it.
 */
function useFirst(id: string, start: number, end: number, earlier: number): [number, (asked?: boolean) => void] {
  const [shown, setShown] = useState({ id, count: 2 * group });
  const count = shown.id === id ? shown.count : 2 * group;
  const length = end - start;
  const first = Math.max(start, Math.floor((end - count) / group) * group);
  const show = () => setShown((now) => ({ id, count: Math.max(now.id === id ? now.count : 0, count + group) }));
  const more = (asked = false) => {
    if (first > start) show();
    else if (earlier > 0) void app.loadEarlier(asked).then((came) => came && app.conversation.value.id === id && show());
  };
  useEffect(() => {
    if (count >= Math.min(length + earlier, idleMessages)) return;
    if ("requestIdleCallback" in window) {
      const handle = requestIdleCallback(() => more(), { timeout: 500 });
      return () => cancelIdleCallback(handle);
    }
    const timer = setTimeout(() => more(), 50);
    return () => clearTimeout(timer);
  }, [id, count, length, earlier]);
  useEffect(() => {
    const all = () => drawNow(() => {
      app.loadRestNow();
      setShown({ id, count: Infinity });
    });
    addEventListener("beforeprint", all);
    return () => removeEventListener("beforeprint", all);
  }, [id]);
  return [first, more];
}

interface GroupProps {
  shown: Shown[];
  last: boolean; // the last group of the path
}

const Group = memo<GroupProps>(
  ({ shown, last }) => (
    <div class={`group ${last ? "last" : ""}`}>
      {shown.map(({ message, siblings }, i) => (
        <OneMessage key={message.id} message={message} siblings={siblings} last={last && i === shown.length - 1} />
      ))}
    </div>
  ),
  (a, b) => a.last === b.last && a.shown.length === b.shown.length && a.shown.every((x, i) => isSame(x, b.shown[i]!)),
);

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
