// Chats with a server through the AI SDK and prints what a page would see as one JSON object: the parts of an
// answer, of the one after it, of an answer that was interrupted and read again, and how errors look.
//
//   node aisdk.mjs API UPSTREAM ai5|ai6|ai|react
//
// API is the URL of POST /api/chat. A question with HOLD makes the model wait until UPSTREAM/go is asked for.
const [api, upstream, name] = process.argv.slice(2);
const seen = {};
const question = "How tall is the lighthouse?";

const user = (text) => ({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });

// shown is what pages show of a message.
function shown(message) {
  const of = (type) => message.parts.filter((part) => part.type === type);
  return {
    id: message.id,
    text: of("text").map((part) => part.text).join(""),
    urls: of("source-url").map((part) => part.url),
    files: of("source-document").map((part) => part.filename),
    model: message.metadata?.model,
  };
}

// Versions 5 to 7 have the same functions. The transport checks each chunk against the version's own schema.
async function functions({ DefaultChatTransport, readUIMessageStream }) {
  const transport = new DefaultChatTransport({ api, headers: { "X-On-Disconnect": "finish" } });
  const fold = async (stream) => {
    let last;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
    return last;
  };
  const send = (messages, more) => transport.sendMessages({ chatId: "c1", messages, trigger: "submit-message", ...more });
  const first = await fold(await send([user(question)]));
  seen.answer = shown(first);
  seen.next = shown(await fold(await send([user(question), first, user("Why?")])));

  const abort = new AbortController();
  const reader = (await send([user("HOLD " + question)], { abortSignal: abort.signal })).getReader();
  for (let chunk; chunk?.type !== "text-delta"; ) chunk = (await reader.read()).value;
  abort.abort();
  await reader.cancel().catch(() => {});
  const again = await transport.reconnectToStream({ chatId: "c1" });
  await fetch(upstream + "/go");
  seen.resumed = shown(await fold(again));
  await new Promise((resolve) => setTimeout(resolve, 100));
  seen.ended = await transport.reconnectToStream({ chatId: "c1" });

  seen.failed = await fold(await send([user("FAULT-REFUSE")])).then(shown, (error) => error.message);
  seen.refused = await send([{ id: "x", role: "user", parts: [{ type: "text", text: "" }] }]).catch((error) => error.message);
}

// The object behind useChat: it sends the results of the page's own tool by itself.
async function react() {
  const { Chat } = await import("@ai-sdk/react");
  const { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } = await import("ai");
  seen.ran = [];
  const open = () => new Chat({
    transport: new DefaultChatTransport({ api, body: () => body }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall }) {
      seen.ran.push(toolCall.input.city);
      chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: `20 in ${toolCall.input.city}` });
    },
    onError: (error) => (seen.failed = error.message),
  });
  const settled = async () => {
    do await new Promise((resolve) => setTimeout(resolve, 200));
    while (chat.status === "submitted" || chat.status === "streaming");
  };
  let body = {};
  let chat = open();
  await chat.sendMessage({ text: question });
  seen.answer = shown(chat.lastMessage);
  await chat.regenerate();
  seen.regenerated = shown(chat.lastMessage);
  seen.messages = chat.messages.length;

  body = { tools: { weather: { description: "How warm it is", parameters: { type: "object" } } } };
  await chat.sendMessage({ text: "WEATHER " + question });
  await settled();
  seen.final = shown(chat.lastMessage);
  body = {};

  chat = open();
  const asked = chat.sendMessage({ text: "HOLD " + question });
  const begun = () => chat.lastMessage?.role === "assistant" && shown(chat.lastMessage).text !== "";
  while (!begun()) await new Promise((resolve) => setTimeout(resolve, 10));
  await chat.stop();
  await asked;
  seen.stopped = shown(chat.lastMessage);
  seen.status = chat.status;

  chat = open();
  const url = "data:text/markdown;base64," + btoa("# The lighthouse\n\nThe lighthouse is 46 metres tall.\n");
  await chat.sendMessage({ text: question, files: [{ type: "file", mediaType: "text/markdown", filename: "lighthouse.md", url }] });
  seen.attached = shown(chat.lastMessage);

  chat = open();
  await chat.sendMessage({ text: "FAULT-REFUSE" });
}

try {
  if (name === "react") await react();
  else await functions(await import(name));
} catch (error) {
  seen.thrown = error.stack;
}
console.log(JSON.stringify(seen));
