import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { allRequests, curlOf } from "./requests.ts";
import { recent } from "./said.ts";
import { noChoices, settings } from "./settings.ts";

const question = {
  text: "What's \"it\" $(id) `id` \\ ! 'x'?",
  history: [{ role: "user" as const, content: "Hello" }, { role: "assistant" as const, content: "Hi." }],
  choices: { values: { top: 5, temperature: 0, clarify: true }, models: { rewrite: "openai:small" }, namespace: "hr" },
};

test("the question is in every protocol, behind what was said", () => {
  const all = allRequests(question);
  assert.deepEqual(all.map((r) => r.protocol), ["azure-0529", "azure-0128", "ragchat", "chatui", "openai"]);
  for (const { body } of all) {
    const { message, messages, history } = body as { message?: string; messages?: { content: string }[]; history?: unknown[] };
    assert.equal(message ?? messages?.at(-1)?.content, question.text);
    assert.equal(history?.length ?? messages!.length - 1, 2);
  }
});

test("settings have the names of each protocol, and what it cannot carry is told", () => {
  const [azure, , rag, chatui, openai] = allRequests(question);
  assert.deepEqual((azure!.body as { context: unknown }).context, { overrides: { top: 5, temperature: 0, suggest_followup_questions: true } });
  assert.deepEqual(azure!.left, ["clarify", "models", "namespace"]);
  assert.deepEqual((rag!.body as { params: unknown }).params, {
    model_keys: { rewrite: "openai:small" }, namespace: "hr", top_k: 5, temperature: 0, suggest_followup_questions: true, clarify: true, stream: true,
  });
  assert.deepEqual(rag!.left, []);
  assert.deepEqual(chatui!.left, ["top", "temperature", "clarify", "models", "namespace"]);
  const body = openai!.body as Record<string, unknown>;
  assert.equal(body["model"], "parley/hr");
  assert.equal(body["temperature"], 0);
  assert.deepEqual(openai!.left, ["top", "clarify", "models"]);
});

test("the page's own protocol carries every setting", () => {
  for (const s of settings) assert.ok(s.ragchat, s.key);
});

test("a shell gives curl exactly the body", () => {
  for (const request of allRequests(question)) {
    const command = curlOf(request, "http://127.0.0.1:8000").replace(/^curl/, `printf '%s\\0'`);
    const args = execFileSync("/bin/sh", ["-c", command], { encoding: "utf8" }).split("\0");
    assert.deepEqual(JSON.parse(args.at(-2)!), JSON.parse(JSON.stringify(request.body)));
    assert.equal(args[1], "http://127.0.0.1:8000" + request.path);
  }
});

test("a long history is cut to its newest part", () => {
  const long = Array.from({ length: 500 }, (_, i) => ({ role: "user" as const, content: `${i}` }));
  assert.equal(recent(long).length, 60);
  assert.equal(recent(long).at(-1)!.content, "499");
  const huge = [{ role: "user" as const, content: "x".repeat(300_000) }, { role: "assistant" as const, content: "y" }];
  assert.deepEqual(recent(huge), [huge[1]]);
  assert.deepEqual(allRequests({ text: "x", history: [], choices: noChoices })[4]!.body, { model: "parley", messages: [{ role: "user", content: "x" }], stream: true });
});
