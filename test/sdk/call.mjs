// Makes one call with Microsoft's AI Chat Protocol client and prints what its user sees as one
// JSON object: {"completion"} or {"deltas"}, and {"thrown"} when the client threw.
//
//   node call.mjs ENDPOINT complete|stream REQUEST
//
// REQUEST is JSON: {"messages", "context", "sessionState"}, the latter two optional.
import { AIChatProtocolClient } from "@microsoft/ai-chat-protocol";

const [endpoint, mode, request] = process.argv.slice(2);
const { messages, ...options } = JSON.parse(request);
// Without this the client repeats a failed call for half a minute.
const client = new AIChatProtocolClient(endpoint, { retryOptions: { maxRetries: 0 } });

const seen = {};
try {
  if (mode === "complete") {
    seen.completion = await client.getCompletion(messages, options);
  } else {
    seen.deltas = [];
    for await (const delta of await client.getStreamedCompletion(messages, options)) {
      seen.deltas.push(delta);
    }
  }
} catch (error) {
  seen.thrown = error instanceof Error ? { name: error.name, message: error.message } : error;
}
console.log(JSON.stringify(seen));
