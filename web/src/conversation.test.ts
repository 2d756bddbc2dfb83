import assert from "node:assert/strict";
import { test } from "node:test";
import { ancestorsOf, emptyConversation, historyOf, jsonOf, markdownOf, pathOf, restored, stored, totalsOf, upsert, withEarlier, type Message } from "./conversation.ts";
import { Parser } from "./sse.ts";
import { apply, newAnswer, type Answer } from "./turnstate.ts";
import { codeOf, kindOf, sentenceOf } from "./calls.ts";

const asked = (id: string, parent: string, text: string): Message => ({ id, parent, role: "user", text, answer: null, created: "" });
const answered = (id: string, parent: string, text: string, more: Partial<Answer> = {}): Message => ({
  id, parent, role: "assistant", text: "", answer: { ...newAnswer(), status: "completed", text, ...more }, created: "",
});

const conversation = () => ({
  ...emptyConversation(),
  title: "Talk",
  messages: [asked("q1", "", "One?"), answered("a1", "q1", "1"), asked("q2", "a1", "Two?"), answered("a2", "q2", "2"), asked("q2b", "a1", "Three?"), answered("a3", "q2b", "3")],
});
const ids = (c: ReturnType<typeof conversation>) => pathOf(c).map((s) => s.message.id).join();

test("the newest version is shown, unless another one was chosen", () => {
  assert.equal(ids(conversation()), "q1,a1,q2b,a3");
  assert.equal(ids({ ...conversation(), chosen: { a1: "q2" } }), "q1,a1,q2,a2");
  assert.deepEqual(pathOf(conversation())[2]!.siblings, ["q2", "q2b"]);
});

test("a circle of parents ends", () => {
  assert.equal(pathOf({ ...emptyConversation(), messages: [asked("a", "", "x"), asked("b", "a", "y"), asked("a", "b", "z")] }).length, 2);
});

test("failed answers are no history", () => {
  const c = { ...emptyConversation(), messages: [asked("q", "", "One?"), answered("a", "q", "", { status: "failed" })] };
  assert.deepEqual(historyOf(c.messages), [{ role: "user", content: "One?" }]);
});

test("what is stored comes back as it was", () => {
  const citation = { n: 1, label: "a.pdf#page=2", document_id: "d", name: "a.pdf", title: "A", url: "", namespace: "default", page: 2, kind: "image", start: 3, end: 9,
    quote: "words", passage: "some words", content_url: "/content/a.pdf#page=2", supported: true, stale: false, spans: [{ occurrence: 0, start: 3, end: 9, quote: "words", supported: true, stale: false }] };
  const before = [asked("q", "", "One?"), answered("a", "q", "It is [a.pdf#page=2].", { citations: [citation], followUps: ["Two?"], cost: null, turn: "t" })];
  const after = restored(JSON.parse(JSON.stringify(before.map(stored))) as unknown[]);
  assert.deepEqual(after, before);
});

test("messages of other clients, and whatever else is stored, can be read", () => {
  const m = restored([null, 7, { role: "system", content: "x" }, { messageId: 7, role: "user", content: "a" }, { id: "2", role: "assistant", content: "b", parley: { citations: [null, { label: 7 }], stages: "no" } }, { role: "USER", content: {} }]);
  assert.deepEqual(m.map((x) => [x.role, x.parent]), [["user", ""], ["assistant", m[0]!.id], ["user", "2"]]);
  assert.equal(m[1]!.answer!.status, "completed");
  assert.equal(m[1]!.answer!.citations[0]!.label, "");
  assert.equal(pathOf({ ...emptyConversation(), messages: m }).length, 3);
});

test("what comes before a part that was loaded joins it", () => {
  const part = { ...emptyConversation(), messages: [asked("q2", "a1", "Two?"), answered("a2", "q2", "2")], earlier: { link: "/x", count: 2 } };
  assert.equal(ids({ ...conversation(), ...part }), "q2,a2");
  assert.deepEqual(ancestorsOf(part, part.messages[1]!).map((m) => m.id), ["q2"]);
  const earlier = [asked("q1", "", "One?"), answered("a1", "q1", "1"), part.messages[0]!];
  const next = withEarlier(part, earlier, "/y");
  assert.deepEqual([next.messages.map((m) => m.id).join(), next.earlier], ["q1,a1,q2,a2", { link: "/y", count: 1 }]);
  const whole = withEarlier(part, earlier, "");
  assert.equal(whole.earlier, null);
  assert.equal(ids({ ...conversation(), ...whole }), "q1,a1,q2,a2");
  assert.deepEqual(ancestorsOf(whole, whole.messages[3]!).map((m) => m.id), ["q1", "a1", "q2"]);
});

test("messages that name no parent follow what comes before their part", () => {
  const part = { ...emptyConversation(), messages: restored([{ messageId: "q2", role: "user" }, { messageId: "a2", role: "assistant" }]), earlier: { link: "/x", count: 2 } };
  const whole = withEarlier(part, restored([{ messageId: "q1", role: "user" }, { messageId: "a1", role: "assistant" }]), "");
  assert.deepEqual(whole.messages.map((m) => m.parent), ["", "q1", "a1", "q2"]);
});

test("a circle has each ancestor once", () => {
  const c = { ...emptyConversation(), messages: [asked("a", "b", "x"), asked("b", "a", "y")] };
  assert.deepEqual(ancestorsOf(c, c.messages[0]!).map((m) => m.id), ["a", "b"]);
});

test("every version is paid for", () => {
  const c = upsert({ ...emptyConversation(), messages: [answered("a", "", "x", { cost: 0.5, usage: { ...newAnswer().usage, input_tokens: 3, output_tokens: 4 } })] }, answered("b", "", "y", { cost: null }));
  assert.deepEqual(totalsOf(c), { turns: 2, input: 3, output: 4, cost: 0.5, unknown: true, estimated: false });
});

test("exports hold the path as Markdown, and everything as JSON", () => {
  const c = conversation();
  assert.equal(markdownOf(c, { you: "You", assistant: "Parley" }), "# Talk\n\n## You\n\nOne?\n\n## Parley\n\n1\n\n## You\n\nThree?\n\n## Parley\n\n3\n");
  assert.equal((JSON.parse(jsonOf(c)) as { messages: unknown[] }).messages.length, 6);
});

test("events come whole, however they were cut", () => {
  const text = ": hello\r\ndata: {\"a\":1}\r\nid: 7\r\n\r\ndata:x\ndata: y\n\nid: 9\n\ndata: cut";
  for (let n = 1; n < text.length; n++) {
    const parser = new Parser();
    const events = [...parser.push(text.slice(0, n)), ...parser.push(text.slice(n))];
    assert.deepEqual(events, [{ id: "7", data: '{"a":1}' }, { id: "7", data: "x\ny" }], `cut at ${n}`);
  }
});

test("the events of a turn make its answer", () => {
  const a = newAnswer();
  const events: [string, Record<string, unknown>][] = [
    ["stage_started", { stage: "retrieve" }], ["passages_retrieved", { passages: [{}, {}] }], ["stage_finished", { stage: "retrieve", duration: 4_200_000 }],
    ["prompt_built", { labels: ["a.md"] }], ["message_started", { id: "m" }], ["text_delta", { text: "It is " }], ["text_delta", { text: "so [a.md]." }],
    ["message_finished", { text: "It is so [a.md].", citations: [{ label: "a.md", name: "a.md" }], doubts: [{ label: "a.md", kind: "unsupported" }] }],
    ["follow_ups_suggested", { questions: ["Why?"] }], ["something_new", {}], ["turn_finished", { duration: 9e6, usage: { input: 5, output: 2 } }],
  ];
  events.forEach(([type, event], i) => apply(a, { turn: "t", seq: i + 1, type, event }));
  assert.equal(a.text, "It is so [a.md].");
  assert.equal(a.status, "completed");
  assert.equal(a.found, 2);
  assert.equal(a.stages[0]!.duration, 4.2);
  assert.equal(a.citations[0]!.supported, false);
  assert.equal(a.usage.output_tokens, 2);
});

test("refusals say why, in whatever shape they come", () => {
  for (const body of [{ error: "No." }, { error: { message: "No." } }, { detail: "No." }, { message: "No." }, { detail: [], error: { message: "No." } }]) {
    assert.equal(sentenceOf(body), "No.");
  }
  assert.equal(sentenceOf(null), "");
  assert.equal(kindOf(429, "The budget of today is used up."), "budget");
  assert.equal(kindOf(429, "Too many answers."), "busy");
  assert.equal(kindOf(503, ""), "provider");
  assert.equal(kindOf(502, "", codeOf({ error: { code: "provider_key_refused" } })), "refusedKey");
  assert.equal(kindOf(429, "", codeOf({ error: { code: "PROVIDER_RATE_LIMITED" } })), "limited");
  assert.equal(codeOf({ error: "a sentence" }), "");
  assert.equal(codeOf(null), "");
});
