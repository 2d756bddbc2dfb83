import assert from "node:assert/strict";
import { test } from "node:test";
import { better, casesFile, isExpected, isMiss, outcomeOf, parseCases, summaryOf, type Case, type Outcome, type Run } from "./evaluation.ts";
import type { TurnRecord } from "./types.ts";

test("questions are read from the files that people have", () => {
  const full = { question: "Who pays, \"really\"?", truth: "We do.", citations: ["a.pdf#page=3"] };
  const line = JSON.stringify({ id: "x", ...full });
  assert.deepEqual(parseCases(`${line}\n\nno json\n{"question":7}\n`), [full]);
  assert.deepEqual(parseCases(`\uFEFF[{"question":"Q?","gold":["b.md"]}]`), [{ question: "Q?", truth: "", citations: ["b.md"] }]);
  assert.deepEqual(parseCases('Question,Source\r\n"Who pays, ""really""?",a.pdf#page=3; b.md\r\nWhen?,\r\n'), [
    { question: 'Who pays, "really"?', truth: "", citations: ["a.pdf#page=3", "b.md"] }, { question: "When?", truth: "", citations: [] },
  ]);
  assert.deepEqual(parseCases("When, and where?\n\n Why?"), [{ question: "When, and where?", truth: "", citations: [] }, { question: "Why?", truth: "", citations: [] }]);
  assert.deepEqual(parseCases(""), []);
});

test("a set that is written can be read", () => {
  const list: Case[] = [{ id: "q1", question: "A,\n\"b\"?", truth: "", citations: ["a.pdf#page=1"] }];
  const { id: _, ...rest } = list[0]!;
  assert.deepEqual(parseCases(casesFile(list)), [rest]);
});

test("a source without a page stands for all pages of its document", () => {
  assert.ok(isExpected("a.pdf#page=3", ["a.pdf"]) && isExpected("a.pdf#page=3", ["a.pdf#page=3"]));
  assert.ok(!isExpected("a.pdf#page=30", ["a.pdf#page=3"]) && !isExpected("a.pdf", ["a.pdf#page=3"]) && !isExpected("ba.pdf#page=3", ["a.pdf"]));
});

const turn = (more: Partial<TurnRecord>): TurnRecord => ({
  id: "t", status: "completed", error: null, answer: "", citations: [], unsupported: [], thoughts: null, duration: 10, cost: 0, ...more,
} as unknown as TurnRecord);

test("an outcome says whether the expected page was cited, only found, or missed", () => {
  const c: Case = { id: "q1", question: "?", truth: "", citations: ["a.pdf#page=4"] };
  const cited = turn({ citations: [{ label: "a.pdf#page=4" }] as TurnRecord["citations"] });
  const found = turn({ citations: [{ label: "b.pdf#page=1" }] as TurnRecord["citations"], thoughts: { passages: [{ label: "a.pdf#page=3", pages: [3, 4] }] } as unknown as TurnRecord["thoughts"] });
  const verdict = (t: TurnRecord, x = c) => outcomeOf(x, t).verdict;
  assert.deepEqual([verdict(cited), verdict(found), verdict(turn({})), verdict(turn({ status: "failed" }))], ["cited", "found", "missed", "failed"]);
  const open = { ...c, citations: [] };
  assert.deepEqual([verdict(cited, open), verdict(turn({}), open)], ["answered", "empty"]);
  const doubted = outcomeOf(c, turn({ unsupported: [{ label: "a", kind: "unsupported", sentence: "", reason: "numbers" }, { label: "a", kind: "unsupported", sentence: "", reason: "words" }] as TurnRecord["unsupported"] }));
  assert.equal(doubted.unconfirmed, 1); // other words alone are no alarm
});

test("a summary counts what was asked, and the better outcome wins", () => {
  const list: Case[] = [{ id: "q1", question: "?", truth: "", citations: ["a"] }, { id: "q2", question: "??", truth: "", citations: [] }, { id: "q3", question: "???", truth: "", citations: ["a"] }];
  const o = (verdict: Outcome["verdict"], more: Partial<Outcome> = {}): Outcome => ({ verdict, turn: "t", answer: "", sources: [], unconfirmed: 0, duration: 10, cost: 1, problem: "", ...more });
  const run: Run = { at: "", namespace: "", variants: [{ model: "", values: {} }, { model: "", values: {} }], outcomes: { q1: [o("cited"), o("found", { cost: null, duration: 30 })], q2: [o("empty"), null] } };
  assert.deepEqual(summaryOf(list, run, 0), { asked: 2, expected: 1, cited: 1, found: 1, sourced: 0, unconfirmed: 0, failed: 0, duration: 10, cost: 2, unknown: false });
  assert.deepEqual(summaryOf(list, run, 1), { asked: 1, expected: 1, cited: 0, found: 1, sourced: 0, unconfirmed: 0, failed: 0, duration: 30, cost: 0, unknown: true });
  assert.ok(better(o("cited"), o("found")) < 0 && better(o("missed"), o("found")) > 0 && better(o("cited"), o("cited", { unconfirmed: 1 })) < 0 && better(o("cited"), null) === 0);
  assert.deepEqual([isMiss(o("found")), isMiss(o("cited")), isMiss(o("cited", { unconfirmed: 1 })), isMiss(o("answered")), isMiss(null)], [true, false, true, false, false]);
});
