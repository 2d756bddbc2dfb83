// The reader: a document page by page, with the cited words marked, search, zoom and rotation.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { CopyButton, EmptyState, Icon, IconButton, SearchField } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { PageRecord } from "../types.ts";
import { claimedCells } from "./cells.ts";
import { occurrences, pagesWith } from "./find.ts";
import { PageView, pictureOf, type Look, type Range } from "./page.tsx";

const s = strings.source;
const zooms = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];
const thumbnailWidth = 100; // px
const mostThumbnails = 500;

interface HeadProps {
  title: string;
  n?: number;
  original?: string;
  link?: string;
}

export function Head({ title, n, original, link }: HeadProps) {
  return (
    <header class="panel-head">
      {n !== undefined && <span class="n" aria-hidden="true">{n}</span>}
      <h2 dir="auto">{title}</h2>
      {link && <CopyButton text={link} label={s.copyLink} icon="link" />}
      {original && (
        <a class="icon-button" href={original} target="_blank" rel="noopener noreferrer" aria-label={s.original} title={s.original}><Icon name="open" /></a>
      )}
      <IconButton icon="close" label={strings.close} onClick={app.closePanel} />
    </header>
  );
}

interface ReaderProps {
  id: string;
  namespace: string;
  title: string;
  n?: number;
  page: number;
  ranges: Range[]; // to mark on that page
  original?: string;
  claim?: string; // the citing text of the answer; if there are no ranges, the table cells it computes with are marked
  notes?: (computed: boolean) => ComponentChildren; // `computed`: cells that the answer computes with are marked
  gone?: ComponentChildren; // shown if the document no longer exists
  marks?: ComponentChildren; // the buttons that step through the marks of a source
}

export function Reader({ id, namespace, title, n, page, ranges, claim = "", original, notes, gone, marks }: ReaderProps) {
  const [at, setAt] = useState(page);
  const [look, setLook] = useState<Look>({ zoom: 1, turn: 0, whole: false });
  const [thumbnails, setThumbnails] = useState(false);
  const [finding, setFinding] = useState(false);
  const [q, setQ] = useState("");
  const [shown, failed, again] = usePage(id, namespace, at);
  useEffect(() => setAt(page), [page, ranges]);
  const found = useMemo(() => (shown && q.trim() ? occurrences(shown.text, q) : []), [shown, q]);
  const cells = useMemo(() => (shown && claim && ranges.length === 0 ? claimedCells(shown, claim) : []), [shown, claim, ranges]);
  const cited = cells.length > 0 ? cells : ranges;
  if (failed === "missing" && gone) return <>{gone}</>;
  const count = shown?.count ?? 0;
  const link = `${location.origin}/${app.hrefOf({ name: "documents", id, page: at, namespace })}`;
  const picture = shown?.kind === "image" && shown.image_url !== "";
  return (
    <>
      <Head title={title} n={n} original={original && withPage(original, at)} link={link} />
      <div class="pager" role="toolbar" aria-label={s.tools}>
        {picture && count > 1 && <IconButton icon="files" label={s.thumbnails} pressed={thumbnails} onClick={() => setThumbnails(!thumbnails)} />}
        {count > 1 && <Pager at={at} count={count} go={setAt} />}
        {at !== page && <button type="button" class="quiet small" onClick={() => setAt(page)}>{s.toCited}</button>}
        <span class="spacer" />
        {shown && <Zoom look={look} set={setLook} picture={picture} />}
        <IconButton icon="search" label={s.find} pressed={finding} onClick={() => { setFinding(!finding); setQ(""); }} />
      </div>
      {finding && <Find id={id} namespace={namespace} q={q} setQ={setQ} at={at} go={setAt} />}
      {at === page && marks}
      <div class="reader">
        {thumbnails && picture && shown && <Thumbnails page={shown} at={at} go={setAt} />}
        <div class="panel-body" tabIndex={0} role="region" aria-label={s.pageText}>
          {at === page && (failed || shown?.number === at) && notes?.(cells.length > 0)}
          {failed ? (
            <EmptyState icon="warn" title={s.notLoaded} actions={<button type="button" onClick={again}>{strings.tryAgain}</button>} />
          ) : shown && shown.number === at ? (
            <PageView key={at} page={shown} namespace={namespace} ranges={q.trim() ? found : at === page ? cited : []} look={look} />
          ) : (
            <Skeleton like={shown} />
          )}
        </div>
      </div>
    </>
  );
}

/** Loads a page, and preloads the pictures of its neighbours. Returns the page, the kind of failure ("" for none), and a function to try again. */
function usePage(id: string, namespace: string, at: number): [PageRecord | null, string, () => void] {
  const [shown, setShown] = useState<PageRecord | null>(null);
  const [failed, setFailed] = useState("");
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let left = false;
    setFailed("");
    api.page(namespace, id, at).then((p) => {
      if (left) return;
      setShown(p);
      if (p.kind !== "image" || !p.image_url) return;
      for (const near of [at + 1, at - 1]) if (near >= 1 && near <= p.count) new Image().src = pictureOf(imageOf(p, near), 1);
    }, (e) => !left && setFailed(toApiError(e).kind));
    return () => {
      left = true;
    };
  }, [id, namespace, at, tries]);
  return [shown, failed, () => setTries(tries + 1)];
}

/** Returns the address of the picture of another page of the same document. */
const imageOf = (p: PageRecord, n: number): string => p.image_url.replace(`/pages/${p.number}/image`, `/pages/${n}/image`);

function Pager({ at, count, go }: { at: number; count: number; go: (n: number) => void }) {
  return (
    <>
      <IconButton icon="left" label={s.before} disabled={at <= 1} onClick={() => go(at - 1)} />
      <label>
        <input type="number" min={1} max={count} value={at} aria-label={s.pageNumber}
          onChange={(e) => go(Math.max(1, Math.min(count, Math.round(e.currentTarget.valueAsNumber) || at)))} />
        <span>{s.ofPages(count)}</span>
      </label>
      <IconButton icon="right" label={s.after} disabled={at >= count} onClick={() => go(at + 1)} />
    </>
  );
}

function Zoom({ look, set, picture }: { look: Look; set: (l: Look) => void; picture: boolean }) {
  const place = zooms.indexOf(look.zoom);
  const to = (zoom: number | undefined) => zoom && set({ ...look, zoom, whole: false });
  return (
    <>
      <IconButton icon="minus" label={s.smaller} disabled={place <= 0} onClick={() => to(zooms[place - 1])} />
      <output class="zoom" aria-label={s.zoom}>{look.whole ? s.whole : `${Math.round(look.zoom * 100)} %`}</output>
      <IconButton icon="plus" label={s.larger} disabled={place >= zooms.length - 1} onClick={() => to(zooms[place + 1])} />
      {picture && <IconButton icon="fit" label={look.whole ? s.fitWidth : s.fitPage} pressed={look.whole} onClick={() => set({ ...look, zoom: 1, whole: !look.whole })} />}
      {picture && <IconButton icon="retry" label={s.turn} onClick={() => set({ ...look, turn: (look.turn + 90) % 360 })} />}
    </>
  );
}

function Thumbnails({ page, at, go }: { page: PageRecord; at: number; go: (n: number) => void }) {
  const count = Math.min(page.count, mostThumbnails);
  return (
    <ol class="thumbnails" aria-label={s.thumbnails}>
      {Array.from({ length: count }, (_, i) => i + 1).map((n) => (
        <li key={n}>
          <button type="button" aria-label={s.goTo(n)} aria-current={n === at ? "page" : undefined} onClick={() => go(n)}>
            <img src={`${imageOf(page, n)}${page.image_url.includes("?") ? "&" : "?"}width=${thumbnailWidth}`} alt="" loading="lazy" width={page.width} height={page.height} />
            <span>{n}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}

interface FindProps {
  id: string;
  namespace: string;
  q: string;
  setQ: (q: string) => void;
  at: number;
  go: (n: number) => void;
}

/** A search in the whole document; Enter goes to the next page with a match, Shift+Enter to the previous one. */
function Find({ id, namespace, q, setQ, at, go }: FindProps) {
  const [pages, setPages] = useState<number[] | null>(null);
  const text = q.trim();
  useEffect(() => {
    setPages(null);
    if (!text) return;
    let left = false;
    const timer = setTimeout(() => {
      pagesWith(namespace, id, text).then((found) => {
        if (left) return;
        setPages(found);
        if (found.length > 0 && !found.includes(at)) go(found.find((n) => n > at) ?? found[0]!);
      }, () => !left && setPages([]));
    }, 250);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [text, id, namespace]);
  const step = (by: 1 | -1) => {
    if (!pages || pages.length === 0) return;
    const next = by > 0 ? pages.find((n) => n > at) ?? pages[0]! : pages.findLast((n) => n < at) ?? pages.at(-1)!;
    go(next);
  };
  const nowhere = (pages ?? []).every((n) => n === at);
  return (
    <div class="find">
      <SearchField label={s.findLabel} value={q} onInput={setQ} focus
        onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); } }} />
      <output role="status">{!text ? "" : pages === null ? s.finding : pages.length === 0 ? s.notFound : s.foundOn(pages.indexOf(at) + 1, pages.length)}</output>
      <IconButton icon="up" label={s.findBefore} disabled={nowhere} onClick={() => step(-1)} />
      <IconButton icon="down" label={s.findAfter} disabled={nowhere} onClick={() => step(1)} />
    </div>
  );
}

/** A placeholder for a page that is being loaded. */
function Skeleton({ like }: { like: PageRecord | null }) {
  return (
    <div class="skeleton" role="status" aria-label={s.loading} ref={(el) => { if (el && like && like.width > 0) el.style.aspectRatio = `${like.width} / ${like.height}`; }}>
      {Array.from({ length: 9 }, (_, i) => <i key={i} />)}
    </div>
  );
}

/** Adds a page number to an address. Only PDF viewers use the fragment; elsewhere it does no harm. */
function withPage(url: string, page: number): string {
  const bare = url.replace(/#.*$/, "");
  return page > 0 ? `${bare}#page=${page}` : bare;
}
