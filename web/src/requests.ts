// A question as a request in each protocol. The page sends the one of Chat-with-RAG (ragchat), and can show all of them.
import { recent, type Said } from "./said.ts";
import { settings, stages, type Choices, type Setting, type Value } from "./settings.ts";

/** Question is a question with its conversation and settings. */
export interface Question {
  text: string;
  history: Said[];
  choices: Choices;
  conversation?: string;
  documents?: string[]; // ids of the documents to search; all if absent or empty
}

export interface ProtocolRequest {
  protocol: "azure-0529" | "azure-0128" | "ragchat" | "chatui" | "openai";
  path: string;
  body: unknown;
  left: string[]; // what this protocol cannot carry: keys of settings, or "models", "namespace", "documents"
}

function carried(values: Record<string, Value>, name: (s: Setting) => string | undefined) {
  const sent: Record<string, Value> = {};
  const left: string[] = [];
  for (const setting of settings) {
    const value = values[setting.key];
    if (value === undefined) continue;
    const as = name(setting);
    if (as) sent[as] = value;
    else left.push(setting.key);
  }
  return { sent, left };
}

const messagesOf = (q: Question): Said[] => [...recent(q.history), { role: "user", content: q.text }];

function others(q: Question, can: { models?: boolean; namespace?: boolean }): string[] {
  const left: string[] = [];
  if (!can.models && Object.keys(q.choices.models).length > 0) left.push("models");
  if (!can.namespace && q.choices.namespace) left.push("namespace");
  if (q.documents?.length) left.push("documents");
  return left;
}

/** Returns the request that the page itself sends. It can carry every setting. */
export function ragchatRequest(q: Question, more: Record<string, unknown> = {}): ProtocolRequest {
  const { sent, left } = carried({ suggest_followup_questions: true, ...q.choices.values }, (s) => s.ragchat);
  const params: Record<string, unknown> = {};
  const models = Object.fromEntries(stages.flatMap((s) => (q.choices.models[s] ? [[s, q.choices.models[s]]] : [])));
  if (Object.keys(models).length > 0) params["model_keys"] = models;
  if (q.choices.namespace) params["namespace"] = q.choices.namespace;
  if (q.documents?.length) params["documents"] = q.documents;
  if (q.conversation) params["conversation_id"] = q.conversation;
  Object.assign(params, sent, more);
  return { protocol: "ragchat", path: "/p/ragchat/chat", body: { message: q.text, history: recent(q.history), params }, left };
}

function azureRequest(q: Question, version: "azure-0529" | "azure-0128"): ProtocolRequest {
  const { sent, left } = carried({ suggest_followup_questions: true, ...q.choices.values }, (s) => s.azure);
  const body = { messages: messagesOf(q), context: { overrides: sent }, session_state: null };
  const others0 = others(q, {});
  if (version === "azure-0529") return { protocol: version, path: "/chat/stream", body, left: [...left, ...others0] };
  return { protocol: version, path: "/chat", body: { ...body, stream: true }, left: [...left, ...others0] };
}

function chatuiRequest(q: Question): ProtocolRequest {
  const left = [...Object.keys(q.choices.values).filter((k) => settings.some((s) => s.key === k)), ...others(q, {})];
  return { protocol: "chatui", path: "/api/chat/sse", body: { messages: messagesOf(q) }, left };
}

function openaiRequest(q: Question): ProtocolRequest {
  const { sent, left } = carried(q.choices.values, (s) => s.openai);
  const model = q.choices.namespace ? `parley/${q.choices.namespace}` : "parley";
  const body = { model, messages: messagesOf(q), stream: true, ...sent };
  return { protocol: "openai", path: "/v1/chat/completions", body, left: [...left, ...others(q, { namespace: true })] };
}

/** Returns the question as a request in every protocol. */
export function allRequests(q: Question): ProtocolRequest[] {
  return [
    azureRequest(q, "azure-0529"), azureRequest(q, "azure-0128"), ragchatRequest(q, { stream: true }), chatuiRequest(q), openaiRequest(q),
  ];
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** curlOf returns a request as a curl command for a POSIX shell. */
export function curlOf(request: ProtocolRequest, origin: string): string {
  return [
    `curl -N ${quoted(origin + request.path)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(request.body, null, 2))}`,
  ].join("\n");
}
