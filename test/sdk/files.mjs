// Drives files, a vector store and an answer from it with OpenAI's client, and prints what its user sees as one JSON
// object.
//
//   node files.mjs BASE_URL FILE
import fs from "node:fs";
import OpenAI from "openai";

const [baseURL, path] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "not-needed", maxRetries: 0 });
const question = "How tall is the lighthouse?";
const seen = {};

async function read(store) {
  for (let i = 0; i < 1200; i++) {
    const { status, last_error } = await client.vectorStores.files.retrieve(seen.file, { vector_store_id: store });
    if (status !== "in_progress") return last_error ? `${status}: ${last_error.message}` : status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return "in_progress";
}

try {
  const file = await client.files.create({ file: fs.createReadStream(path), purpose: "assistants" });
  seen.file = file.id;
  const store = await client.vectorStores.create({ name: "Towers", metadata: { team: "a" } });
  const batch = await client.vectorStores.fileBatches.create(store.id, { files: [{ file_id: file.id, attributes: { built: 1860 } }] });
  seen.status = await read(store.id);
  seen.batch = (await client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: store.id })).file_counts.completed;
  seen.listed = [];
  for await (const f of client.vectorStores.files.list(store.id, { limit: 1 })) seen.listed.push(f.id);
  const filters = { type: "gte", key: "built", value: 1850 };
  const found = await client.vectorStores.search(store.id, { query: question, filters });
  seen.found = found.data.map((r) => r.filename);
  seen.none = (await client.vectorStores.search(store.id, { query: question, filters: { ...filters, value: 1900 } })).data.length;
  const tools = [{ type: "file_search", vector_store_ids: [store.id], filters, max_num_results: 3 }];
  const asked = { model: "parley", input: question, tools, include: ["file_search_call.results"] };
  const response = await client.responses.create(asked);
  const call = response.output.find((item) => item.type === "file_search_call");
  seen.results = call.results.map((r) => r.file_id);
  seen.cited = response.output.find((item) => item.type === "message").content[0].annotations;
  const streamed = await client.responses.stream(asked).finalResponse();
  seen.streamed = streamed.output.find((item) => item.type === "message").content[0].annotations;
  const cited = (r) => r.output.find((item) => item.type === "message").content[0].annotations;
  const other = await client.vectorStores.create({ name: "Ferries" });
  const harbour = await client.files.create({ file: await OpenAI.toFile(Buffer.from("The ferry to Skagen takes 95 minutes.\n"), "towers.pdf.txt"), purpose: "assistants" });
  await client.vectorStores.files.createAndPoll(other.id, { file_id: harbour.id }, { pollIntervalMs: 100 });
  const both = [{ type: "file_search", vector_store_ids: [other.id, store.id] }];
  seen.both = [
    ...cited(await client.responses.create({ model: "parley", input: question, tools: both })),
    ...cited(await client.responses.create({ model: "parley", input: "How long does the ferry take?", tools: both })),
  ];
  const given = (file, text = question) => [{ role: "user", content: [{ type: "input_text", text }, { type: "input_file", ...file }] }];
  const first = await client.responses.create({ model: "parley", input: given({ file_id: file.id }, "What is the coast called?") });
  const second = await client.responses.create({ model: "parley", input: question, previous_response_id: first.id });
  const file_data = `data:application/pdf;base64,${fs.readFileSync(path).toString("base64")}`;
  const inline = await client.responses.create({ model: "parley", input: given({ filename: "towers.pdf", file_data }) });
  seen.given = [...cited(second), ...cited(inline)];
  const completion = await client.chat.completions.create({
    model: "parley",
    messages: [{ role: "user", content: [{ type: "text", text: question }, { type: "file", file: { file_id: file.id } }] }],
  });
  seen.completed = completion.choices[0].message.annotations.map((a) => a.url_citation.url);
  seen.pages = [];
  for await (const page of client.vectorStores.files.content(file.id, { vector_store_id: store.id })) seen.pages.push(page.text.includes("lighthouse"));
  seen.content = await (await client.files.content(file.id)).text();
  seen.vector = (await client.embeddings.create({ model: "parley", input: question })).data[0].embedding.length;
  seen.deleted = [(await client.vectorStores.delete(store.id)).deleted, (await client.files.delete(file.id)).deleted];
} catch (error) {
  seen.thrown = `${error.constructor.name}: ${error.message}`;
}
console.log(JSON.stringify(seen));
