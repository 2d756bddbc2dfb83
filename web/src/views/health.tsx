// Administration: the results of the server's self-check.
import { useState } from "preact/hooks";
import { Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { AdminTable, Failed, readJSON, useAnswer } from "./adminparts.tsx";

const s = strings.admin;

interface Finding {
  check: keyof typeof s.checks;
  verdict: keyof typeof s.verdicts;
  found: string;
  remedy?: string;
}

const badges: Record<Finding["verdict"], string> = { ok: "good", warning: "warn", problem: "bad", skipped: "" };

export function HealthTab() {
  const [again, setAgain] = useState(0);
  return <Examination key={again} again={() => setAgain(again + 1)} />;
}

function Examination({ again }: { again: () => void }) {
  const { value, error } = useAnswer("/api/doctor", readJSON<{ ok: boolean; parley: string; findings: Finding[] }>);
  if (error) return <Failed error={error} />;
  if (!value) return <p class="doing"><Spinner label={strings.working} /><span>{s.checking}</span></p>;
  return (
    <>
      <div class="admin-tools">
        <p class="soft-note" role="status">{value.ok ? s.healthy : s.unhealthy} Parley {value.parley}</p>
        <button type="button" onClick={again}><Icon name="retry" />{s.checkAgain}</button>
      </div>
      <AdminTable label={s.tabs.health}>
        <thead><tr><th scope="col">{s.check}</th><th scope="col">{s.state}</th><th scope="col">{s.found}</th></tr></thead>
        <tbody>
          {value.findings.map((f, i) => (
            <tr key={i}>
              <th scope="row">{s.checks[f.check] ?? f.check}</th>
              <td><span class={`badge ${badges[f.verdict] ?? ""}`}>{s.verdicts[f.verdict] ?? f.verdict}</span></td>
              <td><bdi>{f.found}</bdi>{f.remedy && <small><bdi>{f.remedy}</bdi></small>}</td>
            </tr>
          ))}
        </tbody>
      </AdminTable>
    </>
  );
}
