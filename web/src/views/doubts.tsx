// The claims that the check of the answer's citations did not confirm.
import { Icon } from "../parts/controls.tsx";
import { plainText } from "../markdown/plain.ts";
import { strings } from "../strings.ts";
import { isLoud, type Answer } from "../turnstate.ts";
import type { Doubt } from "../types.ts";

const s = strings.chat;

/** Shows warnings, and less prominently the sentences that are merely worded differently from their page. */
export function Doubts({ answer }: { answer: Answer }) {
  const loud = answer.doubts.filter(isLoud);
  const quiet = answer.doubts.filter((d) => !isLoud(d));
  return (
    <>
      {loud.length > 0 && (
        <details class="doubts">
          <summary><Icon name="warn" />{s.doubts(loud.length)}</summary>
          <List doubts={loud} />
        </details>
      )}
      {quiet.length > 0 && (
        <details class="doubts quiet">
          <summary>{s.reworded(quiet.length)}</summary>
          <List doubts={quiet} />
        </details>
      )}
    </>
  );
}

function List({ doubts }: { doubts: Doubt[] }) {
  return (
    <ul>
      {doubts.map((d, i) => (
        <li key={i} dir="auto">
          <q>{plainText(d.sentence)}</q>
          <small>{why(d)}</small>
        </li>
      ))}
    </ul>
  );
}

function why(d: Doubt): string {
  if (d.kind === "invented") return s.invented;
  switch (d.reason) {
    case "numbers":
      return s.numberMissing(d.label);
    case "words":
      return s.otherWords(d.label);
    default:
      return s.notSaid(d.label);
  }
}
