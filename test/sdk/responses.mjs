// Asks a server's Responses API through one client and prints what its user sees as one JSON object: the text of
// an answer, of a streamed one and of the one after it; the object that was asked for; the cities with which the
// client's function was run, the answer from its results, and where that one's citation leads.
//
//   node responses.mjs BASE_URL openai|ai|agents
import OpenAI from "openai";
import { z } from "zod";

const [baseURL, name] = process.argv.slice(2);
const question = "How tall is the lighthouse?";
const height = z.object({ height: z.number(), source: z.string() });
const city = z.object({ city: z.string() });
const seen = { ran: [] };

const weather = ({ city }) => {
  seen.ran.push(city);
  return `20 in ${city}`;
};

const clients = {
  async openai() {
    const { zodTextFormat } = await import("openai/helpers/zod");
    const { responses } = new OpenAI({ baseURL, apiKey: "not-needed", maxRetries: 0 });
    const model = "parley";
    const first = await responses.create({ model, input: question });
    seen.answer = first.output_text;
    seen.streamed = (await responses.stream({ model, input: question }).finalResponse()).output_text;
    seen.next = (await responses.create({ model, input: "Why?", previous_response_id: first.id })).output_text;
    const text = { format: zodTextFormat(height, "height") };
    seen.parsed = (await responses.parse({ model, input: question, text })).output_parsed;
    const tools = [{ type: "function", name: "weather", strict: true, parameters: z.toJSONSchema(city) }];
    const asked = await responses.create({ model, input: question, tools });
    const input = asked.output
      .filter((item) => item.type === "function_call")
      .map((call) => ({ type: "function_call_output", call_id: call.call_id, output: weather(JSON.parse(call.arguments)) }));
    const final = await responses.create({ model, input, tools, previous_response_id: asked.id });
    seen.final = final.output_text;
    seen.cited = final.output[0].content[0].annotations.map((annotation) => annotation.url);
  },
  async ai() {
    const { generateObject, generateText, stepCountIs, streamText, tool } = await import("ai");
    const { createOpenAI } = await import("@ai-sdk/openai");
    const own = { model: createOpenAI({ baseURL, apiKey: "not-needed" })("parley"), maxRetries: 0 };
    seen.answer = (await generateText({ ...own, prompt: question })).text;
    const stream = streamText({ ...own, prompt: question });
    seen.streamed = await stream.text;
    const { messages } = await stream.response; // they refer to the stored answer
    const next = [{ role: "user", content: question }, ...messages, { role: "user", content: "Why?" }];
    seen.next = (await generateText({ ...own, messages: next })).text;
    seen.parsed = (await generateObject({ ...own, prompt: question, schema: height })).object;
    const tools = { weather: tool({ inputSchema: city, execute: weather }) };
    const final = await generateText({ ...own, prompt: question, tools, stopWhen: stepCountIs(3) });
    seen.final = final.text;
    seen.cited = final.sources.map((source) => source.url);
  },
  async agents() {
    const { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } = await import("@openai/agents");
    setTracingDisabled(true);
    setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey: "not-needed", maxRetries: 0 }));
    const own = { name: "A", model: "parley" };
    const agent = new Agent(own);
    const first = await run(agent, question);
    seen.answer = first.finalOutput;
    const stream = await run(agent, question, { stream: true });
    await stream.completed;
    seen.streamed = stream.finalOutput;
    seen.next = (await run(agent, "Why?", { previousResponseId: first.lastResponseId })).finalOutput;
    seen.parsed = (await run(new Agent({ ...own, outputType: height }), question)).finalOutput;
    const tools = [tool({ name: "weather", description: "How warm it is", parameters: city, execute: weather })];
    seen.final = (await run(new Agent({ ...own, tools }), question)).finalOutput;
  },
};

try {
  await clients[name]();
} catch (error) {
  seen.thrown = `${error.constructor.name}: ${error.message}`;
}
console.log(JSON.stringify(seen));
