// A page made with assistant-ui. It asks by its composer, through the AI SDK's protocol and then through AG-UI, and sends what it
// shows to the server that it came from.
//
//   page.html?api=http://127.0.0.1:8000&question=…
import { HttpAgent } from "@ag-ui/client";
import { AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { useAgUiRuntime, useAgUiState } from "@assistant-ui/react-ag-ui";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { useMemo } from "react";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);
const api = query.get("api");

const Text = ({ text }) => <p>{text}</p>;
const Source = ({ url, title }) => url && <a href={url}>{title}</a>; // a document has none
const Question = () => <MessagePrimitive.Root><MessagePrimitive.Parts /></MessagePrimitive.Root>;
const Answer = () => (
  <MessagePrimitive.Root className="answer">
    <MessagePrimitive.Parts components={{ Text, Source }} />
  </MessagePrimitive.Root>
);

const Page = ({ runtime, children }) => (
  <AssistantRuntimeProvider runtime={runtime}>
    <ThreadPrimitive.Root>
      <ThreadPrimitive.Messages components={{ UserMessage: Question, AssistantMessage: Answer }} />
      <ThreadPrimitive.If running><i>running</i></ThreadPrimitive.If>
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Input />
        <ComposerPrimitive.Send className="send">Send</ComposerPrimitive.Send>
      </ComposerPrimitive.Root>
      {children}
    </ThreadPrimitive.Root>
  </AssistantRuntimeProvider>
);

function AISDK() {
  const transport = useMemo(() => new AssistantChatTransport({ api: api + "/api/chat" }), []);
  return <Page runtime={useChatRuntime({ transport })} />;
}

const Cited = () => (useAgUiState()?.citations ?? []).map(({ url }) => <a key={url} href={url}>{url}</a>);

function AGUI() {
  const agent = useMemo(() => new HttpAgent({ url: api + "/ag-ui" }), []);
  return <Page runtime={useAgUiRuntime({ agent, onError: (error) => (seen.failed = error.message) })}><Cited /></Page>;
}

const all = (selector) => [...document.querySelectorAll(selector)];
const until = async (holds) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 50));
};

// say asks a question by the composer.
async function say(text) {
  const input = document.querySelector("form textarea");
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await until(() => !document.querySelector(".send").disabled);
  document.querySelector(".send").click();
}

// answers waits for a number of answers, of which the last is complete.
const answers = (count) => until(() => all(".answer p").length >= count && all("i").length === 0);

const seen = {};
for (const [name, Client] of Object.entries({ AISDK, AGUI })) {
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(<Client />);
  await until(() => document.querySelector("form textarea"));
  await say(query.get("question"));
  await answers(1);
  await say("And why?");
  await answers(2);
  seen[name] = { texts: all(".answer p").map((p) => p.textContent), links: [...new Set(all("a").map((a) => a.href))] };
  if (Client === AGUI) {
    await say("FAULT-REFUSE");
    await until(() => seen.failed);
  }
  root.unmount();
}
await fetch("/result", { method: "POST", body: JSON.stringify(seen) });
