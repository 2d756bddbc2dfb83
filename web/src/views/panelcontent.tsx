// The contents of the panel: a document at the cited page, or how an answer was made.
import { useEffect, useMemo, useState } from "preact/hooks";
import { documentHref } from "../markdown/parse.ts";
import { Icon, IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { Panel } from "../panelstate.ts";
import type { Citation } from "../types.ts";
import type { Range } from "./page.tsx";
import { Head, Reader } from "./reader.tsx";
import { Thinking } from "./thinking.tsx";
import { Passage } from "./tip.tsx";

const s = strings.source;

export function PanelContent({ panel }: { panel: Panel }) {
  switch (panel.kind) {
    case "thinking":
      return <Thinking key={panel.message} message={panel.message} />;
    case "source":
      return <Source key={panel.citation.label} {...panel} />;
    case "document":
      return <Document key={`${panel.id}#${panel.page}.${panel.start}`} {...panel} />;
  }
}

function Document({ id, namespace, name, page, start, end }: Extract<Panel, { kind: "document" }>) {
  const ranges = useMemo(() => (start === undefined ? [] : [{ start, end: end ?? start }]), [start, end]);
  return <Reader id={id} namespace={namespace} title={name} page={page} ranges={ranges} />;
}

function Source({ citation, occurrence, claim }: Extract<Panel, { kind: "source" }>) {
  const n = citation.n;
  const [which, setWhich] = useState(() => spanOf(citation, occurrence));
  useEffect(() => setWhich(spanOf(citation, occurrence)), [citation, occurrence]);
  const marked = useMemo(() => citation.spans.filter((x) => !x.stale && x.end > x.start), [citation]);
  const chosen = citation.spans[which];
  const place = chosen ? marked.indexOf(chosen) : -1;
  const ranges: Range[] = useMemo(
    () => (place >= 0 ? [marked[place]!] : marked.length > 0 ? marked : citation.end > citation.start ? [citation] : []),
    [citation, place],
  );
  if (!citation.document_id || !hasPage(citation)) return <Remains citation={citation} n={n} />;
  const step = (by: number) => setWhich(citation.spans.indexOf(marked[place < 0 ? (by > 0 ? 0 : marked.length - 1) : (place + by + marked.length) % marked.length]!));
  return (
    <Reader id={citation.document_id} namespace={citation.namespace} title={citation.title || citation.name} n={n} page={citation.page} ranges={ranges} claim={claim}
      original={documentHref(citation.url) || documentHref(citation.content_url)} notes={(computed) => <Notes citation={citation} marked={ranges.length > 0} computed={computed} />} gone={<Remains citation={citation} n={n} />}
      marks={marked.length > 1 && (
        <div class="marks">
          <IconButton icon="up" label={s.markBefore} onClick={() => step(-1)} />
          <output role="status">{s.marks(place + 1, marked.length)}</output>
          <IconButton icon="down" label={s.markAfter} onClick={() => step(1)} />
        </div>
      )} />
  );
}

/** The span that an occurrence of the citation's label stands for, or the last one if it has none of its own; -1: all spans. */
function spanOf(citation: Citation, occurrence: number): number {
  const own = citation.spans.findIndex((x) => x.occurrence === occurrence);
  return own >= 0 ? own : Math.min(Math.max(occurrence, -1), citation.spans.length - 1);
}

const hasPage = (c: Citation) => !c.stale || c.spans.some((x) => !x.stale) || c.content_url !== "";

function Notes({ citation, marked, computed }: { citation: Citation; marked: boolean; computed: boolean }) {
  const stale = citation.stale || citation.spans.some((x) => x.stale);
  return (
    <>
      {!citation.supported && <p class="warn-note"><Icon name="warn" />{s.unsupported}</p>}
      {citation.supported && citation.reworded && <p class="soft-note">{s.reworded}</p>}
      {stale && <p class="warn-note"><Icon name="warn" />{s.stale}{citation.quote && <> <q>{citation.quote}</q></>}</p>}
      {!marked && !stale && !citation.unplaced && <p class="soft-note">{computed ? s.computed : s.noWords}</p>}
    </>
  );
}

/** The stored passage of a source whose document no longer exists. */
function Remains({ citation, n }: { citation: Citation; n: number }) {
  return (
    <>
      <Head title={citation.title || citation.name} n={n} />
      <div class="panel-body">
        <p class="warn-note"><Icon name="warn" />{s.gone}</p>
        <blockquote class="remains" dir="auto"><Passage text={citation.passage} quote={citation.quote} whole /></blockquote>
      </div>
    </>
  );
}
