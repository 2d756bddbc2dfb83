// Names and prices of models, in words for people.
import { api } from "./api.ts";
import { Cell } from "./cell.ts";
import { money } from "./format.ts";
import { choices } from "./settings.ts";
import { strings } from "./strings.ts";
import type { ModelRecord, ServerConfig } from "./types.ts";

/** The chat models that the server's providers offer; empty until loadModels has loaded them. */
export const listed = new Cell<ModelRecord[]>([]);

let asked = false;

/** Loads `listed` once; a failed load may be repeated. */
export function loadModels(): void {
  if (asked) return;
  asked = true;
  api.models().then((all) => (listed.value = all), () => (asked = false));
}

const rate = (usd: number): string => money(Math.round(usd * 1000) / 1000);

const providers: Record<string, string> = {
  openai: "OpenAI", "azure-openai": "Azure OpenAI", anthropic: "Anthropic", gemini: "Google", ollama: "Ollama",
};

export interface ModelWords {
  name: string;
  note: string; // the provider, or what a built-in model does
  price: string; // "" if unknown
}

/** Returns the words for a model key of the form provider:model. */
export function wordsOf(key: string): ModelWords {
  const s = strings.models;
  const at = key.indexOf(":");
  const provider = key.slice(0, Math.max(at, 0));
  const name = key.slice(at + 1);
  if (provider === "builtin") return { name: s.builtin[name] ?? name, note: s.builtinNote[name] ?? "", price: s.free };
  const pricing = listed.value.find((m) => m.key === key)?.pricing;
  const price = pricing ? s.price(rate(pricing.input_per_mm), rate(pricing.output_per_mm)) : "";
  return { name, note: providers[provider] ?? provider, price };
}

export const modelName = (key: string): string => wordsOf(key).name;

/** Returns the keys of the models that can write answers, configured ones first. */
export function answering(config: ServerConfig | null): string[] {
  const chosen = choices.value.models.inference;
  return [...new Set([...(config?.models.inference ?? []), ...listed.value.map((m) => m.key), ...(chosen ? [chosen] : [])])];
}
