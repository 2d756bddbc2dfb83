// Running an evaluation. A run continues while other views are shown.
import * as app from "./app.ts";
import { Cell, saved } from "./cell.ts";
import { cases, runCases, type Run, type Variant } from "./evaluation.ts";
import { choices } from "./settings.ts";

const isVariant = (v: unknown): v is Variant => typeof v === "object" && v !== null && typeof (v as Variant).model === "string" && typeof (v as Variant).values === "object" && (v as Variant).values !== null;

const isPair = (v: unknown): v is [Variant, Variant] => Array.isArray(v) && v.length === 2 && v.every(isVariant);

export const variants = saved<[Variant, Variant]>("parley.evaluation.variants", [{ model: "", values: {} }, { model: "", values: { semantic_ranker: true } }], isPair);

const isRun = (v: unknown): v is Run | null => v === null || (typeof v === "object" && isPair((v as Run).variants) && typeof (v as Run).outcomes === "object" && (v as Run).outcomes !== null);

/** The last run; null before the first. */
export const run = saved<Run | null>("parley.evaluation.run", null, isRun);

/** The progress of the current run, in turns; null if none is running. */
export const progress = new Cell<{ done: number; all: number } | null>(null);

let stopping: AbortController | null = null;

export function stop(): void {
  stopping?.abort();
}

export async function start(): Promise<void> {
  if (progress.value) return;
  const list = cases.value;
  const control = (stopping = new AbortController());
  run.value = { at: new Date().toISOString(), namespace: choices.value.namespace || (app.config.value?.namespace ?? ""), variants: variants.value, outcomes: {} };
  progress.value = { done: 0, all: 2 * list.length };
  try {
    await runCases(list, choices.value, variants.value, control.signal, (id, at, outcome) => {
      const { outcomes, ...rest } = run.value!;
      const pair = outcomes[id] ?? [null, null];
      run.value = { ...rest, outcomes: { ...outcomes, [id]: at === 0 ? [outcome, pair[1]] : [pair[0], outcome] } };
      progress.value = { ...progress.value!, done: progress.value!.done + 1 };
    });
  } finally {
    progress.value = null;
  }
}
