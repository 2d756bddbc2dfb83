// Makes one call with OpenAI's client and prints what its user sees as one JSON object:
// {"result"}, {"chunks"}, {"models"} or {"ran", "final"}, and {"thrown"} when the client threw.
//
//   node openai.mjs BASE_URL models|model|complete|stream|helper|parse|tools|toolsStreamed ARGUMENT
//
// ARGUMENT is the id of a model, or the JSON of a request.
import OpenAI from "openai";

const [baseURL, call, argument] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "not-needed", maxRetries: 0 });

const seen = {};

// The client's own loop: it runs the function for each call and sends the results.
async function runTools(more) {
  seen.ran = [];
  const weather = {
    type: "function",
    function: {
      name: "weather",
      description: "How warm it is in a city",
      parameters: { type: "object", properties: { city: { type: "string" } } },
      parse: JSON.parse,
      function: ({ city }) => {
        seen.ran.push(city);
        return `20 in ${city}`;
      },
    },
  };
  const runner = client.chat.completions.runTools({ ...JSON.parse(argument), ...more, tools: [weather] });
  seen.final = await runner.finalContent();
}

const calls = {
  async models() {
    seen.models = [];
    for await (const model of client.models.list()) seen.models.push(model.id);
  },
  async model() {
    seen.result = await client.models.retrieve(argument);
  },
  async complete() {
    seen.result = await client.chat.completions.create(JSON.parse(argument));
  },
  async stream() {
    seen.chunks = [];
    const stream = await client.chat.completions.create({ ...JSON.parse(argument), stream: true });
    for await (const chunk of stream) seen.chunks.push(chunk);
  },
  tools: () => runTools({}),
  toolsStreamed: () => runTools({ stream: true }),
  async parse() {
    const request = JSON.parse(argument);
    seen.result = await client.chat.completions.parse({
      ...request,
      // What the client's helpers for schemas add: how the content is parsed.
      response_format: Object.defineProperties(request.response_format, {
        $brand: { value: "auto-parseable-response-format" },
        $parseRaw: { value: JSON.parse },
      }),
    });
  },
  // The client's own accumulator, which checks what it is given.
  async helper() {
    seen.result = await client.chat.completions.stream(JSON.parse(argument)).finalChatCompletion();
  },
};

try {
  await calls[call]();
} catch (error) {
  const { name, status, type, param, code, message, requestID } = error;
  seen.thrown = { name: error.constructor.name || name, status, type, param, code, message, requestID };
}
console.log(JSON.stringify(seen));
