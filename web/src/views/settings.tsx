// What requests may set, in plain words.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { Icon } from "../parts/controls.tsx";
import { choices, defaultOf, groups, noChoices, recordOf, setChoice, setModel, settings, stages, type Setting, type Value } from "../settings.ts";
import { strings } from "../strings.ts";
import type { SettingRecord } from "../types.ts";
import { NamespaceSelect } from "./namespace.tsx";
import { Problems } from "./problems.tsx";

const s = strings.settings;

export function SettingsView() {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const changed = Object.keys(chosen.values).length + Object.keys(chosen.models).length + (chosen.namespace ? 1 : 0);
  return (
    <div class="view">
      <div class="view-inner settings">
        <header class="view-head">
          <h1>{s.title}</h1>
          <NamespaceSelect />
          <button type="button" onClick={() => (app.overlay.value = "request")}><Icon name="code" />{strings.request.title}</button>
          <button type="button" disabled={changed === 0} onClick={() => (choices.value = noChoices)}><Icon name="retry" />{s.reset(changed)}</button>
        </header>
        <p class="soft-note">{s.intro}</p>
        <Problems />
        <Models />
        {groups.map((group) => (
          <fieldset key={group} class="setting-group">
            <legend>{s.groups[group]}</legend>
            <p class="soft-note">{s.groupTexts[group]}</p>
            {settings.filter((x) => x.group === group).map((x) => <SettingRow key={x.key} setting={x} />)}
          </fieldset>
        ))}
        {config && <p class="soft-note about">{s.about(config.version)}</p>}
      </div>
    </div>
  );
}

function Models() {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const [listed, setListed] = useState<string[]>([]); // what the providers have
  useEffect(() => {
    api.models().then(setListed, () => setListed([])); // those of the configuration are there anyway
  }, []);
  return (
    <fieldset class="setting-group">
      <legend>{s.models}</legend>
      <p class="soft-note">{s.modelsText}</p>
      {stages.map((stage) => {
        const keys = [...(config?.models[stage] ?? []), ...(stage === "rerank" ? [] : listed)];
        const current = chosen.models[stage] ?? "";
        const words = s.stageModels[stage];
        const standard = config?.defaults[stage] || s.follows;
        return (
          <div class="setting" key={stage}>
            <label for={`model-${stage}`}>{words.title}</label>
            <p id={`model-${stage}-help`}>{words.help}</p>
            <select id={`model-${stage}`} aria-describedby={`model-${stage}-help`} value={current} onChange={(e) => setModel(stage, e.currentTarget.value)}>
              <option value="">{s.standard(standard)}</option>
              {[...new Set([...keys, ...(current ? [current] : [])])].map((key) => <option key={key} value={key}>{key}</option>)}
            </select>
          </div>
        );
      })}
    </fieldset>
  );
}

function SettingRow({ setting }: { setting: Setting }) {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const value = chosen.values[setting.key];
  const told = recordOf(setting, config);
  if (!told) return null; // until the server has answered
  const standard = defaultOf(setting, told);
  const words = strings.settings.each[setting.key as keyof typeof strings.settings.each];
  const title = words?.[0] ?? told.title;
  const help = words?.[1] ?? told.help;
  const off = told.needs !== "" && config?.capabilities[told.needs] === false;
  const id = `setting-${setting.key}`;
  return (
    <div class={`setting ${value !== undefined ? "changed" : ""} ${off ? "off" : ""}`}>
      <label for={id}>{title}</label>
      <p id={`${id}-help`}>
        {help}
        {off && <em> {s.needs[told.needs as keyof typeof s.needs] ?? s.needs.other}</em>}
      </p>
      <div class="setting-control">
        <Control setting={setting} told={told} id={id} value={value ?? standard} set={(v) => setChoice(setting.key, v)} />
        {value !== undefined && <button type="button" class="quiet small" onClick={() => setChoice(setting.key, undefined)} aria-label={s.undo(title)}>{s.back}</button>}
      </div>
      <small class="names">{[setting.azure && `overrides.${setting.azure}`, setting.ragchat && `params.${setting.ragchat}`, setting.openai].filter(Boolean).join(" · ")}</small>
    </div>
  );
}

/** What a choice is called: the same word may mean something else in another setting. */
function optionName(key: string, option: string): string {
  const names: Record<string, string> = strings.settings.options;
  return names[`${key}.${option}`] ?? names[option] ?? option;
}

interface ControlProps {
  setting: Setting;
  told: SettingRecord;
  id: string;
  value: Value;
  set: (value: Value | undefined) => void;
}

function Control({ setting, told, id, value, set }: ControlProps) {
  const help = `${id}-help`;
  switch (setting.lines ? "lines" : told.type) {
    case "boolean":
      return <input type="checkbox" role="switch" class="switch" id={id} aria-describedby={help} checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />;
    case "choice":
      return (
        <select id={id} aria-describedby={help} value={String(value)} onChange={(e) => set(e.currentTarget.value)}>
          {told.options.map((o) => <option key={o} value={o}>{optionName(setting.key, o)}</option>)}
        </select>
      );
    case "lines":
      return <textarea id={id} aria-describedby={help} rows={4} value={String(value)} onChange={(e) => set(e.currentTarget.value || undefined)} />;
    case "text":
      return <input type="text" id={id} aria-describedby={help} value={String(value)} maxLength={256} onChange={(e) => set(e.currentTarget.value || undefined)} />;
    default:
      return (
        <input type="number" id={id} aria-describedby={help} value={Number(value)} min={told.min} max={told.max} step={told.step} inputMode="decimal"
          onChange={(e) => {
            const n = e.currentTarget.valueAsNumber;
            if (Number.isNaN(n)) return set(undefined);
            const bounded = Math.min(told.max, Math.max(told.min, n));
            set(told.type === "integer" ? Math.round(bounded) : bounded);
          }} />
      );
  }
}
