// Administration: people's ratings of answers.
import { useState } from "preact/hooks";
import { moment } from "../format.ts";
import { EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { AdminTable, Failed, readJSON, useAnswer } from "./adminparts.tsx";

const s = strings.admin;

interface Rating {
  at: string;
  user: string;
  good: boolean;
  reason: string;
  model: string;
  title: string;
  link: string; // "" if the caller may not open the conversation
}

const choices = ["", "bad", "good"] as const;

/** Returns a link from the server if it leads to a view of the page, else "". */
const viewLink = (link: string): string => (/^#\/(chat|shared)\//.test(link) ? link : "");

export function RatingsTab() {
  const [only, setOnly] = useState<(typeof choices)[number]>("");
  const { value, error } = useAnswer(`/api/feedback?limit=500&rating=${only}`, readJSON<{ ratings: Rating[]; more: boolean }>);
  return (
    <>
      <div class="admin-tools">
        <p class="soft-note">{s.feedbackText}</p>
        <label class="namespace">
          <span>{s.rating}</span>
          <select value={only} onChange={(e) => setOnly(e.currentTarget.value as typeof only)}>{choices.map((c) => <option key={c} value={c}>{s.ratings[c || "all"]}</option>)}</select>
        </label>
      </div>
      {error ? <Failed error={error} /> : !value ? <Spinner label={strings.working} /> : value.ratings.length === 0 ? <EmptyState icon="thumbUp" title={s.noFeedback} /> : <RatingTable ratings={value.ratings} />}
      {value?.more && <p class="soft-note">{s.olderRatings}</p>}
    </>
  );
}

function RatingTable({ ratings }: { ratings: Rating[] }) {
  return (
    <AdminTable label={s.tabs.feedback}>
      <thead><tr><th scope="col">{s.time}</th><th scope="col">{s.rating}</th><th scope="col">{s.reason}</th><th scope="col">{s.who}</th><th scope="col">{s.conversation}</th></tr></thead>
      <tbody>
        {ratings.map((r, i) => (
          <tr key={i}>
            <td class="moment">{moment(r.at)}</td>
            <td><span class={`badge ${r.good ? "good" : "bad"}`}>{r.good ? strings.feedback.good : strings.feedback.bad}</span></td>
            <td><bdi>{r.reason || "–"}</bdi>{r.model && <small dir="ltr">{r.model}</small>}</td>
            <td dir="auto">{r.user || s.nobody}</td>
            <td>{viewLink(r.link) ? <a href={viewLink(r.link)} dir="auto"><Icon name="chat" /> {r.title || s.conversation}</a> : s.private}</td>
          </tr>
        ))}
      </tbody>
    </AdminTable>
  );
}
