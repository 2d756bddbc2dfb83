// Administration: the limits per period, which can be changed here, and how much of them has been used.
import { useState } from "preact/hooks";
import { send, toApiError } from "../calls.ts";
import { count, money, moment, percent } from "../format.ts";
import { Dialog, EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { AdminTable, Failed, readJSON, useAnswer } from "./adminparts.tsx";
import { collectionName } from "./namespace.tsx";

const s = strings.admin;

interface Amount {
  requests: number;
  tokens: number;
  cost_usd: number;
}

interface Spent extends Amount {
  kind: "user" | "namespace";
  name: string;
  user?: string; // the name given by a caller who is not signed in
  used: number;
}

interface Report {
  until: string;
  user: Amount;
  namespace: Amount;
  chosen: boolean; // set by administrators, overriding the server's settings
  spent: Spent[];
  left_out: number;
}

export function BudgetsTab() {
  const [version, setVersion] = useState(0);
  const [changing, setChanging] = useState(false);
  const { value, error } = useAnswer("/api/budgets", readJSON<Report>, version);
  if (error) return <Failed error={error} />;
  if (!value) return <Spinner label={strings.working} />;
  return (
    <>
      <div class="admin-tools">
        <p class="soft-note">{s.budgetsText} {value.chosen ? s.budgetsChosen : s.budgetsConfigured} {s.periodEnds(moment(value.until))}</p>
        <button type="button" onClick={() => setChanging(true)}><Icon name="edit" />{s.changeLimits}</button>
      </div>
      {changing && <ChangeLimits report={value} close={() => { setChanging(false); setVersion(version + 1); }} />}
      <AdminTable label={s.limits}>
        <thead><tr><th scope="col">{s.limits}</th><Amounts /></tr></thead>
        <tbody>
          <tr><th scope="row">{s.eachUser}</th><Limits of={value.user} /></tr>
          <tr><th scope="row">{s.eachCollection}</th><Limits of={value.namespace} /></tr>
        </tbody>
      </AdminTable>
      {value.spent.length === 0 ? <EmptyState icon="chart" title={s.nothingSpent} /> : <SpentTable report={value} />}
      {value.left_out > 0 && <p class="soft-note">{s.notShown(value.left_out)}</p>}
    </>
  );
}

const kinds = ["user", "namespace"] as const;
const members = ["requests", "tokens", "cost_usd"] as const;

function ChangeLimits({ report, close }: { report: Report; close: () => void }) {
  const [limits, setLimits] = useState({ user: report.user, namespace: report.namespace });
  const [wrong, setWrong] = useState("");
  const request = (init: RequestInit) => send("/api/budgets", init).then(close, (error) => setWrong(toApiError(error).message));
  const save = (event: Event) => {
    event.preventDefault();
    void request({ method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(limits) });
  };
  const names = { requests: s.requests, tokens: s.tokens, cost_usd: `${s.cost} (US$)` };
  return (
    <Dialog title={s.changeLimits} onClose={close} class="confirm limits">
      <form onSubmit={save}>
        <p>{s.limitsText}</p>
        {kinds.map((kind) => (
          <fieldset key={kind}>
            <legend>{kind === "user" ? s.eachUser : s.eachCollection}</legend>
            {members.map((m) => (
              <label key={m} class="field">
                <span>{names[m]}</span>
                <input type="number" min={0} step={m === "cost_usd" ? "any" : 1} inputMode="decimal" placeholder={s.noLimit} value={limits[kind][m] || ""}
                  onInput={(e) => setLimits({ ...limits, [kind]: { ...limits[kind], [m]: Number(e.currentTarget.value) } })} />
              </label>
            ))}
          </fieldset>
        ))}
        <p class="bad" role="alert" dir="auto">{wrong}</p>
        <div class="dialog-actions">
          {report.chosen && <button type="button" onClick={() => void request({ method: "DELETE" })}>{s.resetLimits}</button>}
          <button type="submit" class="primary">{s.saveLimits}</button>
        </div>
      </form>
    </Dialog>
  );
}

const Amounts = () => <><th scope="col" class="align-right">{s.requests}</th><th scope="col" class="align-right">{s.tokens}</th><th scope="col" class="align-right">{s.cost}</th></>;

function Limits({ of }: { of: Amount }) {
  const shown = (n: number, written: (n: number) => string) => <td class="align-right">{n > 0 ? written(n) : s.noLimit}</td>;
  return <>{shown(of.requests, count)}{shown(of.tokens, count)}{shown(of.cost_usd, money)}</>;
}

function SpentTable({ report }: { report: Report }) {
  const hasLimit = (kind: Spent["kind"]) => Object.values(report[kind]).some((n) => n > 0);
  return (
    <AdminTable label={s.spent}>
      <thead><tr><th scope="col">{s.spent}</th><Amounts /><th scope="col">{s.usedUp}</th></tr></thead>
      <tbody>
        {report.spent.map((row) => (
          <tr key={`${row.kind} ${row.name} ${row.user ?? ""}`}>
            <th scope="row" dir="auto">{row.kind === "namespace" ? collectionName(row.name) : row.name || row.user || s.nobody}<small>{row.kind === "namespace" ? s.groups.namespace : s.groups.user}</small></th>
            <td class="align-right">{count(row.requests)}</td><td class="align-right">{count(row.tokens)}</td><td class="align-right">{money(row.cost_usd)}</td>
            <td>{hasLimit(row.kind) ? <><meter min={0} max={1} high={0.8} optimum={0} value={Math.min(row.used, 1)} aria-label={s.usedUp} /><small>{percent(row.used)}</small></> : s.noLimit}</td>
          </tr>
        ))}
      </tbody>
    </AdminTable>
  );
}
