// The panel at the side: the original at the cited page, or how an answer was made.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, toApiError } from "../api.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { documentHref } from "../markdown/parse.ts";
import { EmptyState, Icon, IconButton, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { Citation, PageRecord } from "../types.ts";
import { PageView, type Range } from "./page.tsx";
import { Thinking } from "./thinking.tsx";
import { Passage, tip } from "./tip.tsx";

const s = strings.source;

export function SidePanel() {
  const panel = useCell(app.panel);
  const root = useRef<HTMLElement>(null);
  const opener = useRef<Element | null>(null);
  const shown = panel !== null;
  // Before the next paint: a key that is pressed right after the panel has closed must find its way.
  useLayoutEffect(() => {
    if (!shown) return;
    opener.current = document.activeElement;
    root.current?.focus();
    return () => {
      if (opener.current instanceof HTMLElement && opener.current.isConnected) tip.focusQuietly(opener.current);
    };
  }, [shown]);
  if (!panel) return null;
  const label = panel.kind === "thinking" ? strings.thinking.title : s.label;
  return (
    <aside class="panel" ref={root} tabIndex={-1} aria-label={label}>
      {panel.kind === "thinking" && <Thinking key={panel.message} message={panel.message} />}
      {panel.kind === "source" && <Source key={panel.citation.label} citation={panel.citation} n={panel.n} span={panel.span} />}
      {panel.kind === "document" && (
        <Viewer key={`${panel.id}#${panel.page}.${panel.start}`} id={panel.id} namespace={panel.namespace} title={panel.name} page={panel.page}
          ranges={panel.start === undefined ? [] : [{ start: panel.start, end: panel.end ?? panel.start }]} />
      )}
    </aside>
  );
}

function Source({ citation, n, span }: { citation: Citation; n: number; span: number }) {
  if (!citation.document_id || !hasPage(citation)) return <Remains citation={citation} n={n} />;
  const chosen = citation.spans[span];
  const spans = chosen && !chosen.stale && chosen.end > chosen.start ? [chosen] : citation.spans.filter((x) => !x.stale && x.end > x.start);
  const ranges: Range[] = spans.length > 0 ? spans : citation.end > citation.start ? [citation] : [];
  return (
    <Viewer id={citation.document_id} namespace={citation.namespace} title={citation.title || citation.name} n={n} page={citation.page} ranges={ranges}
      original={documentHref(citation.url) || documentHref(citation.content_url)} notes={<Notes citation={citation} marked={ranges.length > 0} />} gone={<Remains citation={citation} n={n} />} />
  );
}

const hasPage = (c: Citation) => !c.stale || c.spans.some((x) => !x.stale) || c.content_url !== "";

function Notes({ citation, marked }: { citation: Citation; marked: boolean }) {
  const stale = citation.stale || citation.spans.some((x) => x.stale);
  return (
    <>
      {!citation.supported && <p class="warn-note"><Icon name="warn" />{s.unsupported}</p>}
      {citation.supported && citation.reworded && <p class="soft-note">{s.reworded}</p>}
      {stale && <p class="warn-note"><Icon name="warn" />{s.stale}{citation.quote && <> <q>{citation.quote}</q></>}</p>}
      {!marked && !stale && <p class="soft-note">{s.noWords}</p>}
    </>
  );
}

/** What is left of a source whose document is gone. */
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

function Head({ title, n, original }: { title: string; n?: number; original?: string }) {
  return (
    <header class="panel-head">
      {n !== undefined && <span class="n" aria-hidden="true">{n}</span>}
      <h2 dir="auto">{title}</h2>
      {original && (
        <a class="icon-button" href={original} target="_blank" rel="noopener noreferrer" aria-label={s.original} title={s.original}><Icon name="open" /></a>
      )}
      <IconButton icon="close" label={strings.close} onClick={app.closePanel} />
    </header>
  );
}

interface ViewerProps {
  id: string;
  namespace: string;
  title: string;
  n?: number;
  page: number;
  ranges: Range[];
  original?: string;
  notes?: preact.ComponentChildren;
  gone?: preact.ComponentChildren;
}

/** A document, page by page; the marks are those of the page that it opens at. */
function Viewer({ id, namespace, title, n, page, ranges, original, notes, gone }: ViewerProps) {
  const [at, setAt] = useState(page);
  const [shown, setShown] = useState<PageRecord | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let left = false;
    setFailed("");
    api.page(namespace, id, at).then(
      (p) => !left && setShown(p),
      (e) => !left && setFailed(toApiError(e).kind),
    );
    return () => {
      left = true;
    };
  }, [id, namespace, at]);
  if (failed === "missing" && gone) return <>{gone}</>;
  const count = shown?.count ?? 0;
  return (
    <>
      <Head title={title} n={n} original={original && withPage(original, at)} />
      {count > 1 && (
        <div class="pager">
          <IconButton icon="left" label={s.before} disabled={at <= 1} onClick={() => setAt(at - 1)} />
          <label>
            <span>{s.pageOf}</span>
            <input type="number" min={1} max={count} value={at} aria-label={s.pageNumber}
              onChange={(e) => setAt(Math.max(1, Math.min(count, Math.round(e.currentTarget.valueAsNumber) || at)))} />
            <span>{s.ofPages(count)}</span>
          </label>
          <IconButton icon="right" label={s.after} disabled={at >= count} onClick={() => setAt(at + 1)} />
          {at !== page && <button type="button" class="quiet small" onClick={() => setAt(page)}>{s.toCited}</button>}
        </div>
      )}
      <div class="panel-body" tabIndex={0} role="region" aria-label={s.pageText}>
        {at === page && notes}
        {failed ? (
          <EmptyState icon="warn" title={s.notLoaded} actions={<button type="button" onClick={() => { setAt(at); setFailed(""); }}>{strings.tryAgain}</button>} />
        ) : shown && shown.number === at ? (
          <PageView key={at} page={shown} namespace={namespace} ranges={at === page ? ranges : []} />
        ) : (
          <div class="centered"><Spinner label={s.loading} /></div>
        )}
      </div>
    </>
  );
}

/** Only PDF viewers know the fragment; elsewhere it does no harm. */
function withPage(url: string, page: number): string {
  const bare = url.replace(/#.*$/, "");
  return page > 0 ? `${bare}#page=${page}` : bare;
}
