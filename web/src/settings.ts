// The settings of a request, and their names in each protocol.
import { saved, type Cell } from "./cell.ts";
import type { ServerConfig, SettingRecord, Stage } from "./types.ts";

export type Group = "search" | "answer" | "conversation" | "access" | "reply";
export type Value = string | number | boolean;

/**
 * Setting is one setting of a request: the group in which the page shows it, and its name in each protocol. A protocol
 * without a name for it cannot carry it. Everything else is in the server's own table (recordOf).
 */
export interface Setting {
  key: string;
  group: Group;
  azure?: string;
  ragchat?: string;
  openai?: string;
  lines?: true; // a multi-line text
}

const both = (name: string) => ({ azure: name, ragchat: name });

export const settings: readonly Setting[] = [
  { key: "top", group: "search", azure: "top", ragchat: "top_k" },
  { key: "retrieval_mode", group: "search", ...both("retrieval_mode") },
  { key: "semantic_ranker", group: "search", ...both("semantic_ranker") },
  { key: "semantic_captions", group: "search", ...both("semantic_captions") },
  { key: "minimum_search_score", group: "search", azure: "minimum_search_score", ragchat: "score_threshold" },
  { key: "minimum_reranker_score", group: "search", ...both("minimum_reranker_score") },
  { key: "include_category", group: "search", ...both("include_category") },
  { key: "exclude_category", group: "search", ...both("exclude_category") },
  { key: "use_web_search", group: "search", ragchat: "use_web_search" },

  { key: "temperature", group: "answer", ...both("temperature"), openai: "temperature" },
  { key: "top_p", group: "answer", ragchat: "top_p", openai: "top_p" },
  { key: "max_output_tokens", group: "answer", ragchat: "max_output_tokens", openai: "max_completion_tokens" },
  { key: "reasoning_effort", group: "answer", ragchat: "reasoning_effort", openai: "reasoning_effort" },
  { key: "suggest_followup_questions", group: "answer", ...both("suggest_followup_questions") },
  { key: "use_tools", group: "answer", ragchat: "use_tools" },
  { key: "use_gpt4v", group: "answer", ...both("use_gpt4v") },
  { key: "gpt4v_input", group: "answer", ...both("gpt4v_input") },
  { key: "prompt_template", group: "answer", ...both("prompt_template"), lines: true },
  { key: "prompt_domain", group: "answer", ragchat: "prompt_domain" },

  { key: "enable_query_rewrite", group: "conversation", ragchat: "enable_query_rewrite" },
  { key: "rewrite_confidence_threshold", group: "conversation", ragchat: "rewrite_confidence_threshold" },
  { key: "rewrite_tail_turns", group: "conversation", ragchat: "rewrite_tail_turns" },
  { key: "rewrite_summary_turns", group: "conversation", ragchat: "rewrite_summary_turns" },
  { key: "clarify", group: "conversation", ragchat: "clarify" },
  { key: "raw_tail_turns", group: "conversation", ragchat: "raw_tail_turns" },
  { key: "summarizer_max_input_tokens", group: "conversation", ragchat: "summarizer_max_input_tokens" },
  { key: "summarizer_max_output_tokens", group: "conversation", ragchat: "summarizer_max_output_tokens" },

  { key: "use_oid_security_filter", group: "access", ...both("use_oid_security_filter") },
  { key: "use_groups_security_filter", group: "access", ...both("use_groups_security_filter") },

  { key: "show_sources", group: "reply", ragchat: "show_sources" },
  { key: "render_html", group: "reply", ragchat: "render_html" },
  { key: "show_processing_steps", group: "reply", ragchat: "show_processing_steps" },
];

export type Tab = "general" | "answers" | "search" | "developer";
export const tabs: readonly Tab[] = ["general", "answers", "search", "developer"];

/** The settings that most people look for; they are on the first tab. */
const everyday = new Set(["max_output_tokens", "suggest_followup_questions", "prompt_template"]);
const tabsOfGroups: Record<Group, Tab> = { search: "search", conversation: "search", answer: "answers", access: "developer", reply: "developer" };

export const tabOf = (s: Setting): Tab => (everyday.has(s.key) ? "general" : tabsOfGroups[s.group]);

export const groups: readonly Group[] = ["search", "answer", "conversation", "access", "reply"];
export const stages: readonly Stage[] = ["inference", "rewrite", "rerank", "summary", "tools_synth"];

/** Choices is what the user has set; settings at their defaults are absent. */
export interface Choices {
  values: Record<string, Value>;
  models: Partial<Record<Stage, string>>;
  namespace: string; // "" for the server's default
}

export const noChoices: Choices = { values: {}, models: {}, namespace: "" };

const isChoices = (v: unknown): v is Choices =>
  typeof v === "object" && v !== null && typeof (v as Choices).values === "object" && (v as Choices).values !== null &&
  typeof (v as Choices).models === "object" && (v as Choices).models !== null && typeof (v as Choices).namespace === "string";

export const choices: Cell<Choices> = saved("parley.settings", noChoices, isChoices);

/** Returns the server's description of a setting, undefined until the configuration is loaded. */
export function recordOf(setting: Setting, config: ServerConfig | null): SettingRecord | undefined {
  const find = (list: SettingRecord[] | undefined, name: string | undefined) => list?.find((s) => s.name === name);
  return find(config?.settings?.ragchat, setting.ragchat) ?? find(config?.settings?.azure, setting.azure);
}

/** Returns the value that applies when the user has set none. */
export function defaultOf(setting: Setting, told: SettingRecord): Value {
  if (setting.key === "suggest_followup_questions") return true; // the page's own default
  return told.default ?? "";
}

export function setChoice(key: string, value: Value | undefined): void {
  const { [key]: _, ...rest } = choices.value.values;
  choices.value = { ...choices.value, values: value === undefined ? rest : { ...rest, [key]: value } };
}

export function setModel(stage: Stage, key: string): void {
  const { [stage]: _, ...rest } = choices.value.models;
  choices.value = { ...choices.value, models: key ? { ...rest, [stage]: key } : rest };
}
