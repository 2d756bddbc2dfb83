// What a request may set, and what each protocol calls it.
import { saved, type Cell } from "./cell.ts";
import type { ServerConfig, SettingRecord, Stage } from "./types.ts";

export type Group = "search" | "answer" | "conversation" | "access" | "reply";
export type Value = string | number | boolean;

/** Setting is one thing that a request may set. Names differ by protocol; a missing one cannot carry it. */
export interface Setting {
  key: string;
  group: Group;
  type: "integer" | "number" | "boolean" | "choice" | "text" | "lines";
  fallback: Value; // where the server does not tell its default
  min?: number;
  max?: number;
  step?: number;
  options?: readonly string[];
  azure?: string;
  ragchat?: string;
  openai?: string;
  needs?: string; // a capability of the server without which it does nothing
}

const both = (name: string) => ({ azure: name, ragchat: name });

export const settings: readonly Setting[] = [
  { key: "top", group: "search", type: "integer", fallback: 8, min: 1, max: 50, step: 1, azure: "top", ragchat: "top_k" },
  { key: "retrieval_mode", group: "search", type: "choice", fallback: "hybrid", options: ["hybrid", "text", "vectors"], ...both("retrieval_mode"), needs: "vectors" },
  { key: "semantic_ranker", group: "search", type: "boolean", fallback: false, ...both("semantic_ranker") },
  { key: "semantic_captions", group: "search", type: "boolean", fallback: false, ...both("semantic_captions") },
  { key: "minimum_search_score", group: "search", type: "number", fallback: 0, min: 0, max: 1, step: 0.05, azure: "minimum_search_score", ragchat: "score_threshold" },
  { key: "minimum_reranker_score", group: "search", type: "number", fallback: 0, min: 0, max: 1, step: 0.05, ...both("minimum_reranker_score") },
  { key: "include_category", group: "search", type: "text", fallback: "", ...both("include_category") },
  { key: "exclude_category", group: "search", type: "text", fallback: "", ...both("exclude_category") },
  { key: "use_web_search", group: "search", type: "boolean", fallback: false, ragchat: "use_web_search", needs: "web_search" },

  { key: "temperature", group: "answer", type: "number", fallback: 0.4, min: 0, max: 2, step: 0.1, ...both("temperature"), openai: "temperature" },
  { key: "top_p", group: "answer", type: "number", fallback: 0.9, min: 0, max: 1, step: 0.05, ragchat: "top_p", openai: "top_p" },
  { key: "max_output_tokens", group: "answer", type: "integer", fallback: 500, min: 1, max: 32768, step: 1, ragchat: "max_output_tokens", openai: "max_completion_tokens" },
  { key: "reasoning_effort", group: "answer", type: "choice", fallback: "", options: ["", "minimal", "low", "medium", "high"], ragchat: "reasoning_effort", openai: "reasoning_effort" },
  { key: "suggest_followup_questions", group: "answer", type: "boolean", fallback: true, ...both("suggest_followup_questions") },
  { key: "use_tools", group: "answer", type: "boolean", fallback: true, ragchat: "use_tools", needs: "tools" },
  { key: "use_gpt4v", group: "answer", type: "boolean", fallback: false, ...both("use_gpt4v"), needs: "vision" },
  { key: "gpt4v_input", group: "answer", type: "choice", fallback: "textAndImages", options: ["textAndImages", "images", "texts"], ...both("gpt4v_input"), needs: "vision" },
  { key: "prompt_template", group: "answer", type: "lines", fallback: "", ...both("prompt_template") },
  { key: "prompt_domain", group: "answer", type: "text", fallback: "", ragchat: "prompt_domain" },

  { key: "enable_query_rewrite", group: "conversation", type: "boolean", fallback: true, ragchat: "enable_query_rewrite" },
  { key: "rewrite_confidence_threshold", group: "conversation", type: "number", fallback: 0.65, min: 0, max: 1, step: 0.05, ragchat: "rewrite_confidence_threshold" },
  { key: "rewrite_tail_turns", group: "conversation", type: "integer", fallback: 1, min: 0, max: 20, step: 1, ragchat: "rewrite_tail_turns" },
  { key: "rewrite_summary_turns", group: "conversation", type: "integer", fallback: 3, min: 0, max: 20, step: 1, ragchat: "rewrite_summary_turns" },
  { key: "clarify", group: "conversation", type: "boolean", fallback: false, ragchat: "clarify" },
  { key: "raw_tail_turns", group: "conversation", type: "integer", fallback: 2, min: 0, max: 50, step: 1, ragchat: "raw_tail_turns" },
  { key: "summarizer_max_input_tokens", group: "conversation", type: "integer", fallback: 4000, min: 1, max: 100000, step: 1, ragchat: "summarizer_max_input_tokens" },
  { key: "summarizer_max_output_tokens", group: "conversation", type: "integer", fallback: 400, min: 1, max: 4000, step: 1, ragchat: "summarizer_max_output_tokens" },

  { key: "use_oid_security_filter", group: "access", type: "boolean", fallback: false, ...both("use_oid_security_filter") },
  { key: "use_groups_security_filter", group: "access", type: "boolean", fallback: false, ...both("use_groups_security_filter") },

  { key: "show_sources", group: "reply", type: "boolean", fallback: true, ragchat: "show_sources" },
  { key: "render_html", group: "reply", type: "boolean", fallback: false, ragchat: "render_html" },
  { key: "show_processing_steps", group: "reply", type: "boolean", fallback: true, ragchat: "show_processing_steps" },
];

export const groups: readonly Group[] = ["search", "answer", "conversation", "access", "reply"];
export const stages: readonly Stage[] = ["inference", "rewrite", "rerank", "summary", "tools_synth"];

/** Choices is what a person has set: only what differs from the server's defaults. */
export interface Choices {
  values: Record<string, Value>;
  models: Partial<Record<Stage, string>>;
  namespace: string; // "" for the server's own
}

export const noChoices: Choices = { values: {}, models: {}, namespace: "" };

const isChoices = (v: unknown): v is Choices =>
  typeof v === "object" && v !== null && typeof (v as Choices).values === "object" && (v as Choices).values !== null &&
  typeof (v as Choices).models === "object" && (v as Choices).models !== null && typeof (v as Choices).namespace === "string";

export const choices: Cell<Choices> = saved("parley.settings", noChoices, isChoices);

/** What the server says of a setting, under the name that one of the protocols has for it. */
export function recordOf(setting: Setting, config: ServerConfig | null): SettingRecord | undefined {
  const find = (list: SettingRecord[] | undefined, name: string | undefined) => list?.find((s) => s.name === name);
  return find(config?.settings?.ragchat, setting.ragchat) ?? find(config?.settings?.azure, setting.azure);
}

export function defaultOf(setting: Setting, config: ServerConfig | null): Value {
  if (setting.key === "suggest_followup_questions") return true; // the page's own default
  const told = recordOf(setting, config)?.default;
  return typeof told === typeof setting.fallback ? (told as Value) : setting.fallback;
}

export function setChoice(key: string, value: Value | undefined): void {
  const { [key]: _, ...rest } = choices.value.values;
  choices.value = { ...choices.value, values: value === undefined ? rest : { ...rest, [key]: value } };
}

export function setModel(stage: Stage, key: string): void {
  const { [stage]: _, ...rest } = choices.value.models;
  choices.value = { ...choices.value, models: key ? { ...rest, [stage]: key } : rest };
}
