// The view for administrators: usage and cost, budgets, feedback, keys, people, the audit log, and health. The server checks who has access.
import { useState } from "preact/hooks";
import { send, toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { count, day, money, moment } from "../format.ts";
import { Confirm } from "../parts/confirm.tsx";
import { CopyButton, Dialog, EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { strings } from "../strings.ts";
import { AdminTable, Failed, Period, since, useAnswer } from "./adminparts.tsx";
import { BudgetsTab } from "./budgets.tsx";
import { HealthTab } from "./health.tsx";
import { collectionName } from "./namespace.tsx";
import { PeopleTab } from "./people.tsx";
import { RatingsTab } from "./ratings.tsx";
import { UsageChart } from "./usagechart.tsx";

const s = strings.admin;
const tabs = ["usage", "budgets", "feedback", "keys", "people", "audit", "health"] as const;
type Tab = (typeof tabs)[number];

export function AdminView() {
  const [tab, setTab] = useState<Tab>("usage");
  return (
    <div class="view">
      <div class="view-inner admin">
        <header class="view-head"><h1>{s.title}</h1></header>
        <Tabs label={s.title} name="admin" tabs={tabs.map((id) => ({ id, title: s.tabs[id] }))} at={tab} select={(id) => setTab(id as Tab)} />
        <div id="admin-panel" class="admin-panel" role="tabpanel" aria-labelledby={`admin-${tab}`}>
          {tab === "usage" && <UsageTab />}
          {tab === "budgets" && <BudgetsTab />}
          {tab === "feedback" && <RatingsTab />}
          {tab === "keys" && <KeysTab />}
          {tab === "people" && <PeopleTab />}
          {tab === "audit" && <AuditTab />}
          {tab === "health" && <HealthTab />}
        </div>
      </div>
    </div>
  );
}

// ---- Usage ------------------------------------------------------------------------------------------

interface UsageRow {
  day?: string;
  model?: string;
  user?: string;
  namespace?: string;
  stage?: string;
  calls: number;
  total_tokens: number;
  cost_usd: number;
  calls_with_unknown_price: number;
}

const groupings = ["day", "model", "user", "namespace", "stage"] as const;
type Grouping = (typeof groupings)[number];

function UsageTab() {
  const [by, setBy] = useState<Grouping>("day");
  const [days, setDays] = useState(30);
  const path = `/api/usage?by=${by}&from=${since(days)}`;
  const { value, error } = useAnswer(path, async (r) => (await r.json()) as { rows: UsageRow[]; total: UsageRow });
  return (
    <>
      <div class="admin-tools">
        <label class="namespace">
          <span>{s.by}</span>
          <select value={by} onChange={(e) => setBy(e.currentTarget.value as Grouping)}>{groupings.map((g) => <option key={g} value={g}>{s.groups[g]}</option>)}</select>
        </label>
        <Period days={days} set={setDays} />
        <a class="button" href={`${path}&format=csv`} download="usage.csv"><Icon name="download" />{s.csv}</a>
      </div>
      {error ? <Failed error={error} /> : !value ? <Spinner label={strings.working} /> : value.rows.length === 0 ? <EmptyState icon="search" title={s.noUsage} /> : (
        <>
          {by === "day" && <UsageChart rows={value.rows} first={since(days)} />}
          <UsageTable by={by} rows={value.rows} total={value.total} />
        </>
      )}
    </>
  );
}

function nameOf(by: Grouping, row: UsageRow): string {
  const text = row[by] ?? "";
  if (by === "day") return day(text);
  if (by === "user") return text || s.nobody;
  if (by === "namespace") return collectionName(text);
  if (by === "stage") return strings.stages[text as keyof typeof strings.stages] ?? text;
  return text;
}

function UsageTable({ by, rows, total }: { by: Grouping; rows: UsageRow[]; total: UsageRow }) {
  const priced = rows.some((r) => r.cost_usd > 0);
  const weight = (r: UsageRow) => (priced ? r.cost_usd : r.total_tokens);
  const most = Math.max(...rows.map(weight), Number.MIN_VALUE);
  const cost = (r: UsageRow) => `${money(r.cost_usd)}${r.calls_with_unknown_price > 0 ? ` ${s.unknown}` : ""}`;
  return (
    <AdminTable label={s.tabs.usage}>
      <thead>
        <tr>
          <th scope="col">{s.groups[by]}</th><th scope="col" class="align-right">{s.requests}</th><th scope="col" class="align-right">{s.tokens}</th>
          <th scope="col" class="align-right">{s.cost}</th><th scope="col">{s.share}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((r, i) => (
          <tr key={i}>
            <th scope="row" dir="auto">{nameOf(by, r)}</th><td class="align-right">{count(r.calls)}</td><td class="align-right">{count(r.total_tokens)}</td>
            <td class="align-right">{cost(r)}</td><td><meter min={0} max={most} value={weight(r)} aria-label={s.share} /></td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr><th scope="row">{s.total}</th><td class="align-right">{count(total.calls)}</td><td class="align-right">{count(total.total_tokens)}</td><td class="align-right">{cost(total)}</td><td /></tr>
      </tfoot>
    </AdminTable>
  );
}

// ---- Keys -------------------------------------------------------------------------------------------

const roles = ["reader", "editor", "administrator"] as const;

interface KeyRecord {
  id: string;
  key?: string;
  name: string;
  state: "valid" | "expired" | "revoked";
  role: (typeof roles)[number];
  namespaces: string[] | null;
  created_at: string | null;
  expires_at: string | null;
  used_at: string | null;
}

function KeysTab() {
  const [again, setAgain] = useState(0);
  const { value: keys, error } = useAnswer("/api/keys", async (r) => ((await r.json()) as { keys: KeyRecord[] }).keys, again);
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<KeyRecord | null>(null);
  const reload = () => setAgain((n) => n + 1);
  if (error) return <Failed error={error} />;
  if (!keys) return <Spinner label={strings.working} />;
  const revoke = async (key: KeyRecord) => {
    try {
      await send(`/api/keys/${encodeURIComponent(key.id)}`, { method: "DELETE" });
    } catch (e) {
      app.tell(toApiError(e).message, true);
    }
    reload();
  };
  return (
    <>
      <div class="admin-tools">
        <p class="soft-note">{s.keysText}</p>
        <button type="button" class="primary" onClick={() => setCreating(true)}><Icon name="plus" />{s.newKey}</button>
      </div>
      {keys.length === 0 ? <EmptyState icon="account" title={s.noKeys} /> : <KeyTable keys={keys} revoke={setRevoking} />}
      {creating && <NewKey close={() => { setCreating(false); reload(); }} />}
      {revoking && <Confirm title={s.revokeTitle(revoking.name || revoking.id)} text={s.revokeText} action={s.revoke} close={() => setRevoking(null)} run={() => revoke(revoking)} />}
    </>
  );
}

function KeyTable({ keys, revoke }: { keys: KeyRecord[]; revoke: (key: KeyRecord) => void }) {
  return (
    <AdminTable label={s.tabs.keys}>
      <thead>
        <tr>
          <th scope="col">{s.name}</th><th scope="col">{s.role}</th><th scope="col">{s.state}</th><th scope="col">{s.made}</th><th scope="col">{s.used}</th><th scope="col">{s.expires}</th>
          <th scope="col"><span class="offscreen">{strings.documents.actionsHead}</span></th>
        </tr>
      </thead>
      <tbody>
        {keys.map((k) => (
          <tr key={k.id}>
            <th scope="row" dir="auto">{k.name || s.unnamed}<small>{[k.id, ...(k.namespaces ?? []).map(collectionName)].join(" · ")}</small></th>
            <td>{s.roles[k.role]?.split(/\s?[:：]/)[0] ?? k.role}</td><td><span class={`badge ${k.state === "valid" ? "good" : "warn"}`}>{s.states[k.state] ?? k.state}</span></td>
            <td class="moment">{k.created_at ? moment(k.created_at) : "–"}</td><td class="moment">{k.used_at ? moment(k.used_at) : s.never}</td><td class="moment">{k.expires_at ? moment(k.expires_at) : s.never}</td>
            <td>{k.state === "valid" && <button type="button" class="danger small" aria-label={s.revokeTitle(k.name || k.id)} onClick={() => revoke(k)}>{s.revoke}</button>}</td>
          </tr>
        ))}
      </tbody>
    </AdminTable>
  );
}

function NewKey({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<KeyRecord["role"]>("reader");
  const [collections, setCollections] = useState("");
  const [until, setUntil] = useState("");
  const [wrong, setWrong] = useState("");
  const [made, setMade] = useState("");
  const create = async (event: Event) => {
    event.preventDefault();
    const namespaces = collections.split(",").map((n) => n.trim()).filter(Boolean);
    const body = { name: name.trim(), role, ...(namespaces.length > 0 ? { namespaces } : {}), ...(until ? { expires_at: `${until}T23:59:59Z` } : {}) };
    try {
      const response = await send("/api/keys", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      setMade(((await response.json()) as KeyRecord).key ?? "");
    } catch (error) {
      setWrong(toApiError(error).message);
    }
  };
  if (made) {
    return (
      <Dialog title={s.newKey} onClose={close} class="confirm">
        <p role="status">{s.keyMade}</p>
        <p class="new-key"><code dir="ltr">{made}</code><CopyButton text={made} label={s.copyKey} /></p>
        <div class="dialog-actions"><button type="button" onClick={close}>{strings.close}</button></div>
      </Dialog>
    );
  }
  return (
    <Dialog title={s.newKey} onClose={close} class="confirm">
      <form onSubmit={(e) => void create(e)}>
        <label class="field"><span>{s.name}</span><input type="text" value={name} maxLength={100} dir="auto" autocomplete="off" onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label class="field">
          <span>{s.role}</span>
          <select value={role} onChange={(e) => setRole(e.currentTarget.value as KeyRecord["role"])}>{roles.map((r) => <option key={r} value={r}>{s.roles[r]}</option>)}</select>
        </label>
        <label class="field"><span>{s.collections}</span><input type="text" value={collections} dir="auto" autocomplete="off" onInput={(e) => setCollections(e.currentTarget.value)} /></label>
        <label class="field"><span>{s.expires}</span><input type="date" value={until} onInput={(e) => setUntil(e.currentTarget.value)} /></label>
        <p class="bad" role="alert" dir="auto">{wrong}</p>
        <div class="dialog-actions">
          <button type="button" onClick={close}>{strings.cancel}</button>
          <button type="submit" class="primary">{s.create}</button>
        </div>
      </form>
    </Dialog>
  );
}

// ---- Audit ------------------------------------------------------------------------------------------

const actions = ["sign-in", "sign-out", "refused", "change", "start"] as const;

interface AuditEntry {
  id: string;
  at: string;
  action: (typeof actions)[number];
  subject: string;
  from?: string;
  what?: string;
  object?: string;
  status?: number;
  why?: string;
}

const shownEntries = 500;

async function readEntries(response: Response): Promise<AuditEntry[]> {
  return (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line) as AuditEntry).reverse();
}

function AuditTab() {
  const [action, setAction] = useState("");
  const [days, setDays] = useState(7);
  const path = `/api/audit?limit=10000&from=${since(days)}${action && `&action=${action}`}`;
  const { value, error } = useAnswer(path, readEntries);
  return (
    <>
      <div class="admin-tools">
        <label class="namespace">
          <span>{s.action}</span>
          <select value={action} onChange={(e) => setAction(e.currentTarget.value)}>
            <option value="">{s.allActions}</option>
            {actions.map((a) => <option key={a} value={a}>{s.actions[a]}</option>)}
          </select>
        </label>
        <Period days={days} set={setDays} />
        <a class="button" href={path} download="audit.jsonl"><Icon name="download" />{s.download}</a>
      </div>
      {error ? <Failed error={error} /> : !value ? <Spinner label={strings.working} /> : value.length === 0 ? <EmptyState icon="search" title={s.noAudit} /> : <AuditTable entries={value.slice(0, shownEntries)} />}
    </>
  );
}

function AuditTable({ entries }: { entries: AuditEntry[] }) {
  return (
    <AdminTable label={s.tabs.audit}>
      <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.action}</th><th scope="col">{s.who}</th><th scope="col">{s.what}</th></tr></thead>
      <tbody>
        {entries.map((e) => (
          <tr key={e.id}>
            <td class="moment">{moment(e.at)}</td>
            <td><span class={`badge ${e.action === "refused" ? "warn" : ""}`}>{s.actions[e.action] ?? e.action}</span></td>
            <td dir="auto">{e.subject || s.nobody}{e.from && <small dir="ltr">{e.from}</small>}</td>
            <td dir="auto"><span class="audit-what">{e.what}</span>{(e.object || e.why || e.status) && <small>{[e.object, e.why, e.status].filter(Boolean).join(" · ")}</small>}</td>
          </tr>
        ))}
      </tbody>
    </AdminTable>
  );
}
