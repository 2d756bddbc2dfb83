// The conversation of an embedded chat. It is kept in sessionStorage, so that it survives while a visitor moves around the site.
import { Cell } from "../cell.ts";
import { historyOf, newId, restored, stored, type Message } from "../conversation.ts";
import { LiveTurn } from "../live.ts";
import { recent } from "../said.ts";
import { isOver, newAnswer, type Answer } from "../turnstate.ts";

export const messages = new Cell<Message[]>([]);

const place = `parley.embed ${location.search}`;
const mostKept = 40; // messages

let live: LiveTurn | null = null;

export const isBusy = (): boolean => messages.value.some((m) => m.answer && !isOver(m.answer));

/** Restores the conversation of the previous page of the site, and follows an unfinished answer. */
export function takeUp(): void {
  try {
    messages.value = restored(JSON.parse(sessionStorage.getItem(place) ?? "[]") as unknown[]);
  } catch {
    return; // storage is switched off, or holds something else
  }
  const last = messages.value.at(-1);
  if (!last?.answer || isOver(last.answer)) return;
  const { turn } = last.answer;
  if (turn) void follow(last.id, newAnswer()).resume(turn);
  else put({ ...last, answer: { ...last.answer, status: "cancelled" } });
}

export function ask(text: string, collection: string): void {
  const question = text.trim();
  if (!question || isBusy()) return;
  const history = historyOf(messages.value);
  const id = newId();
  const created = new Date().toISOString();
  const before = messages.value.at(-1)?.id ?? "";
  messages.value = [
    ...messages.value,
    { id: `q-${id}`, parent: before, role: "user", text: question, answer: null, created },
    { id, parent: `q-${id}`, role: "assistant", text: "", answer: newAnswer(), created },
  ];
  const params = { suggest_followup_questions: true, stream: true, query_id: id, ...(collection && { namespace: collection }) };
  void follow(id, newAnswer()).ask({ key: id, path: "/p/ragchat/chat", body: { message: question, history: recent(history), params } });
}

/** Asks the last question again. */
export function askAgain(collection: string): void {
  const question = messages.value.findLast((m) => m.role === "user");
  if (!question || isBusy()) return;
  messages.value = messages.value.slice(0, messages.value.indexOf(question));
  ask(question.text, collection);
}

export function stop(): void {
  live?.stop();
}

export function begin(): void {
  live?.stop();
  live?.leave();
  live = null;
  messages.value = [];
  keep();
}

function follow(id: string, answer: Answer): LiveTurn {
  live = new LiveTurn(answer, {
    named: (turn) => change(id, { ...answer, turn }, true),
    changed: (next, over) => change(id, next, over),
  });
  return live;
}

function change(id: string, answer: Answer, settled: boolean): void {
  const message = messages.value.find((m) => m.id === id);
  if (message) put({ ...message, answer });
  if (settled) keep();
}

function put(message: Message): void {
  messages.value = messages.value.map((m) => (m.id === message.id ? message : m));
}

function keep(): void {
  try {
    sessionStorage.setItem(place, JSON.stringify(messages.value.slice(-mostKept).map(stored)));
  } catch {
    // Without storage, the conversation ends with the page.
  }
}
