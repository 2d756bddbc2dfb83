// Asks one question in each of the ways in which the generations of the Chat UI client read a reply,
// shows what each finds, and sends all of it to the server that the page came from.
//
//   page.html?api=http://127.0.0.1:8000&question=…

const query = new URLSearchParams(location.search);
const api = query.get("api");
const question = query.get("question");

const post = (path, headers = {}) =>
  fetch(api + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ messages: [{ role: "user", content: question }] }),
  });

async function json(response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

// The document's object.
function fromDocument(message) {
  if (message.status !== "completed" || message.error !== null || !message.messageId || !message.createdAt) {
    throw new Error("no completed message: " + JSON.stringify(message));
  }
  return message.content;
}

// Semantic Kernel's Items.
function fromItems(message) {
  if (message.Role.Label !== "Assistant") throw new Error("not the assistant's");
  return message.Items.find((item) => item.$type === "TextContent").Text;
}

// A flattened ChatMessageContent.
function fromAuthor(message) {
  if (message.authorRole.toUpperCase() !== "ASSISTANT") throw new Error("not the assistant's");
  return message.content;
}

const array = (reply) => {
  if (!Array.isArray(reply)) throw new Error("no array: " + JSON.stringify(reply));
  return reply;
};

// The terminal events of a stream, in their order. What was shown of a message before must be the
// beginning of it.
async function terminals(response) {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const ended = [];
  const shown = new Map();
  let buffer = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    buffer += text;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      if (line.startsWith(":")) continue;
      const message = JSON.parse(line.slice("data: ".length));
      if (!message.content.startsWith(shown.get(message.messageId) ?? "")) throw new Error("not cumulative");
      shown.set(message.messageId, message.content);
      if (message.status === "failed") throw new Error(message.error.message);
      if (message.status === "completed") ended.push(message);
    }
  }
  if (buffer !== "") throw new Error("the stream broke off: " + buffer);
  return ended;
}

const last = (list) => list[list.length - 1];
const sse = { Accept: "text/event-stream" };

// Each returns the answer.
const clients = {
  "standard: the document's object": async () => fromDocument(await json(await post("/api/chat"))),
  "standard: messages[]": async () => fromDocument(last((await json(await post("/api/chat"))).messages)),
  "standard: array with Items[].Text": async () => fromItems(array(await json(await post("/api/chat?format=minimal")))[0]),
  "standard: array with content and authorRole": async () => fromAuthor(array(await json(await post("/api/chat?format=minimal")))[0]),
  "standard: terminal event": async () => fromDocument(last(await terminals(await post("/api/chat", sse)))),
  "standard: terminal event of /sse": async () => fromDocument(last(await terminals(await post("/api/chat/sse")))),
  "team: the document's array": async () => fromDocument(last(array(await json(await post("/api/multi-agent-chat"))))),
  "team: messages[]": async () => fromDocument(last((await json(await post("/api/multi-agent-chat?format=messages"))).messages)),
  "team: array with Items[].Text": async () => fromItems(last(array(await json(await post("/api/multi-agent-chat/batch"))))),
  "team: array with content and authorRole": async () => fromAuthor(last(array(await json(await post("/api/multi-agent-chat/batch"))))),
  "team: terminal events": async () => fromDocument(last(await terminals(await post("/api/multi-agent-chat/stream", sse)))),
  "team: every event a message": async () => fromAuthor(last(await terminals(await post("/api/multi-agent-chat/stream?stream_partials=false", sse)))),
};

// Keeps a chat on the server as a client does, and returns what it reads back.
async function history() {
  const headers = { "Content-Type": "application/json" };
  const call = async (method, path, body) =>
    json(await fetch(api + path, { method, headers, body: body && JSON.stringify(body) }));
  const chat = await call("POST", "/chat-history", { mode: "standard", title: "New Chat" });
  await call("PUT", `/chat-history/${chat.id}/messages`, { messages: [{ id: "m1", role: "user", content: question, timestamp: "10:15 AM" }] });
  await call("PUT", `/chat-history/${chat.id}`, { messages: [{ id: "m2", role: "assistant", content: "Yes.", timestamp: "10:16 AM" }] });
  const listed = (await call("GET", "/chat-history?mode=standard")).find((c) => c.id === chat.id);
  const messages = await call("GET", `/chat-history/${chat.id}/messages`);
  const deleted = await call("DELETE", `/chat-history/${chat.id}?mode=standard`);
  return { title: listed.title, lastMessage: listed.lastMessage, contents: messages.map((m) => m.content), deleted: deleted.success };
}

// An error that a page of another origin can read.
async function refusal() {
  const response = await fetch(api + "/api/chat", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
  const message = await response.json();
  return { status: response.status, failed: message.status, sentence: message.message, same: message.error.message === message.message };
}

const attempt = async (run) => {
  try {
    return await run();
  } catch (error) {
    return "error: " + error.message;
  }
};

const answers = {};
for (const [name, ask] of Object.entries(clients)) {
  answers[name] = await attempt(ask);
  const term = document.createElement("dt");
  const shown = document.createElement("dd");
  term.textContent = name;
  shown.textContent = answers[name];
  document.querySelector("#answers").append(term, shown);
}
const shown = Object.fromEntries(
  [...document.querySelectorAll("dt")].map((term) => [term.textContent, term.nextElementSibling.textContent]),
);
await fetch("/result", {
  method: "POST",
  body: JSON.stringify({ origin: location.origin, shown, history: await attempt(history), refusal: await attempt(refusal) }),
});
