// Runs turns of a server through AG-UI's own client, which verifies the order of all events, and prints what a page
// would see as one JSON object: the answer and the state of a run, of the next one, of one with a tool of the
// page, and of runs that fail or are aborted.
//
//   node agui.mjs URL
import { HttpAgent } from "@ag-ui/client";

const url = process.argv[2];
const seen = { steps: [], ran: [] };
const question = "How tall is the lighthouse?";
const open = (initialState) => new HttpAgent({ url, threadId: "t1", initialState });
const user = (content) => ({ id: crypto.randomUUID(), role: "user", content });

// shown is what a page shows after a run.
function shown(agent) {
  const last = agent.messages.at(-1);
  const { citations = [], ...rest } = agent.state;
  return { role: last.role, text: last.content ?? "", cited: citations.filter((c) => c.messageId === last.id).map((c) => c.url), state: Object.keys(rest) };
}

try {
  let agent = open({ theme: "dark" });
  agent.addMessage(user(question));
  await agent.runAgent({}, { onStepStartedEvent: ({ event }) => void seen.steps.push(event.stepName) });
  seen.answer = shown(agent);
  agent.addMessage(user("Why?"));
  await agent.runAgent();
  seen.next = shown(agent);

  agent = open();
  agent.addMessage(user("WEATHER " + question));
  const tools = [{ name: "weather", description: "How warm it is", parameters: { type: "object" } }];
  await agent.runAgent({ tools });
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  for (const call of calls) {
    const { city } = JSON.parse(call.function.arguments);
    seen.ran.push(city);
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: `20 in ${city}` });
  }
  await agent.runAgent({ tools });
  seen.final = shown(agent);

  agent = open();
  agent.addMessage(user("FAULT-REFUSE"));
  await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void (seen.failed = event) }).catch(() => {});
  agent = open();
  agent.addMessage(user(""));
  seen.refused = await agent.runAgent().catch((error) => error.payload);

  agent = open();
  agent.addMessage(user("HOLD " + question));
  await agent.runAgent({}, { onTextMessageContentEvent: () => agent.abortRun() }).catch(() => {});
  seen.aborted = shown(agent);
} catch (error) {
  seen.thrown = error.stack;
}
console.log(JSON.stringify(seen));
