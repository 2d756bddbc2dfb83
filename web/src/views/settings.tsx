// The settings, in plain words.
import { useEffect, useState } from "preact/hooks";
import * as app from "../app.ts";
import { Cell, useCell } from "../cell.ts";
import { browserLanguage, chosenLanguage, isLanguage, languages } from "../lang.ts";
import { listed, loadModels, modelName, wordsOf } from "../models.ts";
import { EmptyState, Icon, SearchField } from "../parts/controls.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { choices, defaultOf, groups, noChoices, recordOf, setChoice, setModel, settings, stages, tabOf, tabs, type Setting, type Tab, type Value } from "../settings.ts";
import { strings } from "../strings.ts";
import type { SettingRecord, Stage } from "../types.ts";
import { NamespaceSelect } from "./namespace.tsx";
import { Problems } from "./problems.tsx";

const s = strings.settings;

const shownTab = new Cell<Tab>("general");

export function SettingsView() {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const tab = useCell(shownTab);
  const [q, setQ] = useState("");
  const changed = Object.keys(chosen.values).length + Object.keys(chosen.models).length + (chosen.namespace ? 1 : 0);
  return (
    <div class="view">
      <div class="view-inner settings">
        <header class="view-head">
          <h1>{s.title}</h1>
          <SearchField label={s.search} value={q} onInput={setQ} />
          <button type="button" disabled={changed === 0} onClick={() => (choices.value = noChoices)}><Icon name="retry" />{s.reset(changed)}</button>
        </header>
        <p class="soft-note">{s.intro}</p>
        <Problems />
        {q.trim() ? (
          <Found q={q} />
        ) : (
          <>
            <Tabs label={s.title} name="settings" tabs={tabs.map((id) => ({ id, title: s.tabs[id] }))} at={tab} select={(id) => (shownTab.value = id as Tab)} />
            <div id="settings-panel" class="settings-panel" role="tabpanel" aria-labelledby={`settings-${tab}`}>
              <TabContent tab={tab} />
            </div>
          </>
        )}
        {config && <p class="soft-note about">{s.about(config.version)}</p>}
      </div>
    </div>
  );
}

function TabContent({ tab }: { tab: Tab }) {
  const rows = settings.filter((x) => tabOf(x) === tab);
  return (
    <>
      {tab === "general" && <ThisPage />}
      {tab === "general" && <NamespaceSelect />}
      {tab === "general" && <Models stages={["inference"]} />}
      {tab === "general" && rows.map((x) => <SettingRow key={x.key} setting={x} />)}
      {tab === "answers" && <Models stages={stages.filter((x) => x !== "inference")} />}
      {tab !== "general" && groups.filter((g) => rows.some((x) => x.group === g)).map((group) => (
        <fieldset key={group} class="setting-group">
          <legend>{s.groups[group]}</legend>
          <p class="soft-note">{s.groupTexts[group]}</p>
          {rows.filter((x) => x.group === group).map((x) => <SettingRow key={x.key} setting={x} />)}
        </fieldset>
      ))}
      {tab === "developer" && (
        <p><button type="button" onClick={() => (app.overlay.value = "request")}><Icon name="code" />{strings.request.title}</button></p>
      )}
    </>
  );
}

const pageRows = ["language", "theme"] as const;

type PageRow = (typeof pageRows)[number];

const pageWords: Record<PageRow, [title: string, help: string]> = {
  language: [s.language, s.languageHelp],
  theme: [strings.sidebar.theme, s.themeHelp],
};

/** The settings of the page itself, in this browser only. */
function ThisPage({ rows = pageRows }: { rows?: readonly PageRow[] }) {
  return (
    <fieldset class="setting-group">
      <legend>{s.page}</legend>
      {rows.map((id) => (
        <div class="setting" key={id}>
          <label for={id}>{pageWords[id][0]}</label>
          <p id={`${id}-help`}>{pageWords[id][1]}</p>
          {id === "language" ? <Language /> : <Theme />}
        </div>
      ))}
    </fieldset>
  );
}

function Language() {
  const chosen = useCell(chosenLanguage);
  const setLanguage = (value: string) => {
    chosenLanguage.value = isLanguage(value) ? value : "";
    location.reload();
  };
  return (
    <select id="language" aria-describedby="language-help" value={chosen} onChange={(e) => setLanguage(e.currentTarget.value)}>
      <option value="">{s.browserLanguage(languages[browserLanguage])}</option>
      {Object.entries(languages).map(([code, name]) => <option key={code} value={code} lang={code}>{name}</option>)}
    </select>
  );
}

function Theme() {
  const theme = useCell(app.theme);
  return (
    <select id="theme" aria-describedby="theme-help" value={theme} onChange={(e) => (app.theme.value = e.currentTarget.value as typeof theme)}>
      {Object.entries(strings.sidebar.themes).map(([value, name]) => <option key={value} value={value}>{name}</option>)}
    </select>
  );
}

/** The settings of all tabs that match a search in their words or their protocol names. */
function Found({ q }: { q: string }) {
  const config = useCell(app.config);
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const hold = (texts: (string | undefined)[]) => {
    const text = texts.join(" ").toLowerCase();
    return words.every((w) => text.includes(w));
  };
  const ofPage = pageRows.filter((id) => hold([s.page, ...pageWords[id]]));
  const models = stages.filter((stage) => hold([s.models, s.stageModels[stage].title, s.stageModels[stage].help]));
  const found = settings.filter((x) => {
    const told = recordOf(x, config);
    return told && hold([x.key, x.azure, x.ragchat, x.openai, ...titleOf(x, told)]);
  });
  if (ofPage.length + models.length + found.length === 0) return <EmptyState icon="search" title={s.nothing(q)} />;
  return (
    <div class="settings-panel">
      {ofPage.length > 0 && <ThisPage rows={ofPage} />}
      {models.length > 0 && <Models stages={models} />}
      {found.map((x) => <SettingRow key={x.key} setting={x} />)}
    </div>
  );
}

/** Returns the title and the help text of a setting. */
function titleOf(setting: Setting, told: SettingRecord | undefined): [string, string] {
  const words = strings.settings.each[setting.key as keyof typeof strings.settings.each];
  return [words?.[0] ?? told?.title ?? setting.key, words?.[1] ?? told?.help ?? ""];
}

function Models({ stages }: { stages: readonly Stage[] }) {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const all = useCell(listed);
  useEffect(loadModels, []);
  return (
    <fieldset class="setting-group">
      <legend>{s.models}</legend>
      <p class="soft-note">{s.modelsText}</p>
      {stages.map((stage) => {
        const keys = [...(config?.models[stage] ?? []), ...(stage === "rerank" ? [] : all.map((m) => m.key))];
        const current = chosen.models[stage] ?? "";
        const words = s.stageModels[stage];
        const standard = config?.defaults[stage] ? modelName(config.defaults[stage]) : s.follows;
        return (
          <div class="setting" key={stage}>
            <label for={`model-${stage}`}>{words.title}</label>
            <p id={`model-${stage}-help`}>{words.help}</p>
            <select id={`model-${stage}`} aria-describedby={`model-${stage}-help`} value={current} onChange={(e) => setModel(stage, e.currentTarget.value)}>
              <option value="">{s.standard(standard)}</option>
              {[...new Set([...keys, ...(current ? [current] : [])])].map((key) => <option key={key} value={key}>{optionOf(key)}</option>)}
            </select>
          </div>
        );
      })}
    </fieldset>
  );
}

function optionOf(key: string): string {
  const { name, note } = wordsOf(key);
  return key.startsWith("builtin:") || !note ? name : `${name} (${note})`;
}

function SettingRow({ setting }: { setting: Setting }) {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  const value = chosen.values[setting.key];
  const told = recordOf(setting, config);
  if (!told) return null; // until the server has answered
  const standard = defaultOf(setting, told);
  const [title, help] = titleOf(setting, told);
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
      {tabOf(setting) === "developer" && <small class="names">{[setting.azure && `overrides.${setting.azure}`, setting.ragchat && `params.${setting.ragchat}`, setting.openai].filter(Boolean).join(" · ")}</small>}
    </div>
  );
}

/** Returns the name of an option. The same option may have another name in another setting. */
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
