// A question of an evaluation: the expected sources, and both answers side by side.
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { draftNew } from "../drafts.ts";
import { isExpected, isGood, type Case, type Outcome } from "../evaluation.ts";
import { duration, money } from "../format.ts";
import { plainText } from "../markdown/plain.ts";
import { Dialog, Icon } from "../parts/controls.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.evaluation;

export function OutcomeDialog({ of, outcomes, close }: { of: Case; outcomes: readonly [Outcome | null, Outcome | null]; close: () => void }) {
  const again = () => {
    close();
    draftNew(of.question);
    app.begin();
  };
  return (
    <Dialog title={of.question} onClose={close} class="outcome">
      {of.truth && <p dir="auto"><strong>{s.reference}</strong> {of.truth}</p>}
      <p><strong>{s.expected}</strong> {of.citations.length === 0 ? s.unknownSource : of.citations.map((label) => <SourceLink key={label} label={label} close={close} />)}</p>
      <div class="outcomes">{outcomes.map((o, i) => <Side key={i} name={s.names[i]!} of={of} outcome={o} close={close} />)}</div>
      <div class="dialog-actions"><button type="button" onClick={again}><Icon name="chat" />{s.askInChat}</button></div>
    </Dialog>
  );
}

export function VerdictBadge({ outcome }: { outcome: Outcome | null }) {
  if (!outcome) return <>–</>;
  return (
    <>
      <span class={`badge ${isGood(outcome) ? "good" : "warn"}`}>{s.verdicts[outcome.verdict]}</span>
      {outcome.unconfirmed > 0 && <small>{strings.chat.doubts(outcome.unconfirmed)}</small>}
    </>
  );
}

function Side({ name, of, outcome: o, close }: { name: string; of: Case; outcome: Outcome | null; close: () => void }) {
  if (!o) return <section><h3>{name}</h3><p class="soft-note">{s.notAsked}</p></section>;
  return (
    <section>
      <h3>{name}</h3>
      <p><VerdictBadge outcome={o} /></p>
      {o.problem ? <p class="bad" dir="auto">{o.problem}</p> : <p class="outcome-text" dir="auto">{plainText(numbered(o))}</p>}
      <ol class="outcome-sources">
        {o.sources.map((x) => <li key={x.label}><SourceLink label={x.label} source={x} close={close} />{isExpected(x.label, of.citations) && <Icon name="check" />}</li>)}
      </ol>
      {!o.problem && <p class="soft-note">{duration(o.duration)} · {money(o.cost)}</p>}
    </section>
  );
}

/** Returns the answer with its citations as numbers. */
const numbered = (o: Outcome): string => o.sources.reduce((text, x, i) => text.replaceAll(`[${x.label}]`, `(${i + 1})`), o.answer);

/** A link that opens a source in the panel, at its page. */
function SourceLink({ label, source, close }: { label: string; source?: Outcome["sources"][number]; close: () => void }) {
  const open = async () => {
    const namespace = source?.namespace || choices.value.namespace;
    const at = /^(.*?)(?:#page=(\d+))?$/s.exec(label)!;
    try {
      const id = source?.document || (await api.documents(namespace, at[1]!)).documents.find((d) => d.name === at[1] || d.url === at[1])?.id;
      if (!id) return app.tell(strings.documents.gone, true);
      close();
      app.panel.value = { kind: "document", id, namespace, name: source?.name ?? at[1]!, page: Number(at[2] ?? source?.page ?? 0) };
    } catch (error) {
      app.tell(toApiError(error).message, true);
    }
  };
  return <button type="button" class="link-button" dir="auto" onClick={() => void open()}>{label}</button>;
}
