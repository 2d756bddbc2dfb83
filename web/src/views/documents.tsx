// The documents of a collection: the list, adding documents, and the progress of uploads.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { ago, count, size } from "../format.ts";
import { documentHref } from "../markdown/parse.ts";
import * as work from "../jobs.ts";
import * as library from "../library.ts";
import { Confirm } from "../parts/confirm.tsx";
import { EmptyState, Icon, Menu, SearchField, Spinner, type MenuItem } from "../parts/controls.tsx";
import { useDrop } from "../parts/drop.ts";
import { lazy } from "../parts/lazy.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import type { DocumentRecord, Wanted } from "../types.ts";
import { CollectionMenu } from "./collections.tsx";
import { DocumentView } from "./document.tsx";
import { FilterButton, FilterChips } from "./filter.tsx";
import { JobList } from "./jobs.tsx";
import { NamespaceSelect, useCollection } from "./namespace.tsx";
import { Problems } from "./problems.tsx";

const s = strings.documents;
const b = strings.library;

const Sources = lazy(() => import("./sources.tsx").then((m) => m.Sources), { quiet: true });

/** Whether to show remote sources to the caller. The server decides for each collection. */
function useEditing(): boolean {
  const config = useCell(app.config);
  const role = useCell(app.me)?.role;
  return config?.capabilities["uploads"] === true || role === "editor" || role === "administrator";
}

export function DocumentsView({ id, page, namespace: named }: { id: string; page?: number; namespace?: string }) {
  const chosen = useCell(choices).namespace;
  const namespace = named || chosen;
  return id ? <DocumentView key={id} id={id} namespace={namespace} page={page} /> : <List namespace={namespace} />;
}

function List({ namespace }: { namespace: string }) {
  const config = useCell(app.config);
  const kept = useCell(library.search);
  const search = kept.namespace === namespace ? kept : { namespace, q: "", filter: [] };
  const { q, filter } = search;
  const setFilter = (filter: Wanted[]) => (library.search.value = { ...search, filter });
  const list = useDocuments(search);
  const [removing, setRemoving] = useState<DocumentRecord | null>(null);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setPicked(new Set()), [namespace, q, library.conditionOf(filter)]);
  const shownPicked = list.documents.filter((d) => picked.has(d.id)).map((d) => d.id);
  const searched = namespace || config?.namespace || "";
  useEffect(() => {
    if (searched) work.loadJobs(searched).catch(() => app.tell(s.jobsNotLoaded, true));
  }, [searched]);
  const editing = useEditing();
  const narrowed = q !== "" || filter.length > 0;
  const empty = list.total === 0 && !narrowed && !list.error;
  return (
    <DropZone namespace={namespace}>
      <header class="view-head">
        <h1>{s.title}</h1>
        <NamespaceSelect />
        <CollectionMenu />
      </header>
      <Problems only={["ingesting", "embedding"]} />
      <AddDocuments namespace={namespace} />
      {editing && <Sources />}
      <JobList namespace={searched} />
      <div class="list-head">
        <SearchField label={s.search} value={q} onInput={(q) => (library.search.value = { ...search, q })} />
        {!empty && <FilterButton search={search} change={setFilter} />}
        <span role="status" class="soft">{list.total >= 0 && s.total(list.total, narrowed)}</span>
      </div>
      <FilterChips search={search} change={setFilter} />
      <BulkBar namespace={namespace} ids={shownPicked} pick={setPicked} />
      {list.error ? (
        <EmptyState icon="warn" title={s.notLoaded} actions={<button type="button" onClick={list.reload}>{strings.tryAgain}</button>}>{list.error}</EmptyState>
      ) : empty ? (
        <EmptyState icon="files" title={s.none}><p>{config?.capabilities["uploads"] ? s.noneText : s.noneFolder}</p></EmptyState>
      ) : list.total === 0 ? (
        <EmptyState icon="search" title={q ? s.nothing(q) : strings.filter.nothing}
          actions={filter.length > 0 && <button type="button" onClick={() => setFilter([])}>{strings.filter.clear}</button>}>
          {q && <p>{s.nothingText}</p>}
        </EmptyState>
      ) : (
        <Table documents={list.documents} namespace={namespace} remove={setRemoving} picked={picked} pick={setPicked} />
      )}
      {list.next && <button type="button" class="more" onClick={list.more}>{s.more}</button>}
      {removing && <Confirm title={s.removeTitle} text={s.removeText(removing.name)} action={s.remove} close={() => setRemoving(null)}
        run={async () => {
          try {
            app.tell((await api.deleteDocument(namespace, removing.id)).message);
            list.reload();
            void app.refresh();
          } catch (error) {
            app.tell(toApiError(error).message, true);
          }
        }} />}
    </DropZone>
  );
}

interface Documents {
  documents: DocumentRecord[];
  total: number; // -1 before they are known
  next: string;
  error: string;
  more: () => void;
  reload: () => void;
}

const typingPause = 200; // ms

function useDocuments({ namespace, q, filter: wanted }: library.Search): Documents {
  const filter = library.conditionOf(wanted);
  const [state, setState] = useState({ documents: [] as DocumentRecord[], total: -1, next: "", error: "" });
  const [again, setAgain] = useState(0);
  const ended = useCell(work.changed);
  const asked = useRef(0);
  const load = async (after: string) => {
    const mine = ++asked.current;
    try {
      const page = await api.documents(namespace, q, { after, filter });
      if (mine !== asked.current) return;
      setState((old) => ({ documents: after ? [...old.documents, ...page.documents] : page.documents, total: page.total, next: page.next, error: "" }));
    } catch (error) {
      if (toApiError(error).kind === "missing" && app.isBegun(namespace)) {
        if (mine === asked.current) setState({ documents: [], total: 0, next: "", error: "" });
      } else if (mine === asked.current) setState((old) => ({ ...old, error: toApiError(error).message }));
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => void load(""), q ? typingPause : 0);
    return () => clearTimeout(timer);
  }, [namespace, q, filter, again, ended]);
  return { ...state, more: () => void load(state.next), reload: () => setAgain((n) => n + 1) };
}

type Picked = ReadonlySet<string>;

/** The actions on the selected documents. */
function BulkBar({ namespace, ids, pick }: { namespace: string; ids: string[]; pick: (ids: Picked) => void }) {
  const can = useCell(app.config)?.capabilities ?? {};
  const work = useCell(library.bulk);
  const [removing, setRemoving] = useState(false);
  const act = async (what: typeof library.deleteMany) => pick(new Set(await what(namespace, ids)));
  if (work) {
    return (
      <div class="bulk" role="status">
        <progress max={work.all} value={work.done} aria-label={strings.working} />
        <span>{b.progress(work.done, work.all)}</span>
      </div>
    );
  }
  if (ids.length === 0) return null;
  return (
    <div class="bulk" role="group" aria-label={b.selected(ids.length)}>
      <span>{b.selected(ids.length)}</span>
      {can["reindex"] && <button type="button" onClick={() => void act(library.readMany)}><Icon name="retry" />{s.reindex}</button>}
      <button type="button" class="danger" onClick={() => setRemoving(true)}><Icon name="trash" />{s.remove}</button>
      <button type="button" class="quiet" onClick={() => pick(new Set())}>{b.clear}</button>
      {removing && <Confirm title={b.removeTitle(ids.length)} text={`${b.removeText} ${b.comesBack}`} action={s.remove} close={() => setRemoving(false)} run={() => act(library.deleteMany)} />}
    </div>
  );
}

interface TableProps {
  documents: DocumentRecord[];
  namespace: string;
  remove: (d: DocumentRecord) => void;
  picked: Picked;
  pick: (ids: Picked) => void;
}

function Table({ documents, namespace, remove, picked, pick }: TableProps) {
  const toggle = (id: string) => pick(new Set(picked.has(id) ? [...picked].filter((x) => x !== id) : [...picked, id]));
  const all = documents.every((d) => picked.has(d.id));
  const can = useCell(app.config)?.capabilities ?? {};
  const collection = useCollection();
  const manage = useCell(app.namespaces).some((n) => n.name === collection && n.manage);
  const actions = (d: DocumentRecord): MenuItem[] => [
    { icon: "files", label: s.open, run: () => app.go({ name: "documents", id: d.id }) },
    { icon: "open", label: strings.source.original, run: () => window.open(documentHref(d.content_url) || "about:blank", "_blank", "noopener,noreferrer") },
    ...(can["reindex"] ? [{ icon: "retry" as const, label: s.reindex, run: () => void work.reindex(namespace, d.id).catch((e) => app.tell(toApiError(e).message, true)) }] : []),
    ...(manage ? [{ icon: "account" as const, label: strings.rights.document, run: () => (library.rights.value = { kind: "document", namespace: collection, name: d.name, title: d.title || d.name }) }] : []),
    { icon: "trash", label: s.remove, danger: true, run: () => remove(d) },
  ];
  return (
    <table class="documents">
      <thead>
        <tr>
          <td class="pick"><input type="checkbox" aria-label={b.selectAll} checked={all} onChange={() => pick(new Set(all ? [] : documents.map((d) => d.id)))} /></td>
          <th scope="col">{s.name}</th><th scope="col" class="align-right">{s.pages}</th><th scope="col" class="align-right">{s.chunks}</th>
          <th scope="col">{s.status}</th><th scope="col">{s.indexed}</th><th scope="col"><span class="offscreen">{s.actionsHead}</span></th>
        </tr>
      </thead>
      <tbody>
        {documents.map((d) => (
          <tr key={d.id} class={picked.has(d.id) ? "picked" : undefined}>
            <td class="pick"><input type="checkbox" aria-label={b.select(d.title || d.name)} checked={picked.has(d.id)} onChange={() => toggle(d.id)} /></td>
            <th scope="row"><a href={app.hrefOf({ name: "documents", id: d.id })}><span dir="auto">{d.title || d.name}</span><small dir="auto">{d.name} · {size(d.size)}</small></a></th>
            <td class="align-right" data-label={s.pages}>{d.pages > 0 ? count(d.pages) : "–"}</td>
            <td class="align-right" data-label={s.chunks}>{count(d.chunks)}</td>
            <td><Status document={d} vectors={can["vectors"] ?? false} />{d.notes && <small class="notes">{d.notes}</small>}</td>
            <td class="soft">{ago(d.indexed_at)}</td>
            <td><Menu label={s.actions(d.title || d.name)} items={actions(d)} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Status({ document: d, vectors }: { document: DocumentRecord; vectors: boolean }) {
  if (d.chunks === 0) return <span class="badge warn">{s.noText}</span>;
  if (vectors && d.embedded < d.chunks) return <span class="badge">{s.embedding(d.embedded, d.chunks)}</span>;
  if (d.notes) return <span class="badge warn">{s.partly}</span>;
  return <span class="badge good">{s.ready}</span>;
}

/** Uploads files that are dropped anywhere on the view. */
function DropZone({ namespace, children }: { namespace: string; children: preact.ComponentChildren }) {
  const [over, drop] = useDrop((files) => work.upload(files, namespace, app.config.value?.limits.upload ?? 0));
  return (
    <div class={`view documents-view ${over > 0 ? "dropping" : ""}`} {...drop}>
      <div class="view-inner">{children}</div>
      {over > 0 && <div class="drop-note" aria-hidden="true"><Icon name="upload" />{s.drop}</div>}
    </div>
  );
}

function AddDocuments({ namespace }: { namespace: string }) {
  const can = useCell(app.config)?.capabilities ?? {};
  const picker = useRef<HTMLInputElement>(null);
  const [url, setURL] = useState("");
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const add = async () => {
    if (!/^https?:\/\/\S+$/i.test(url.trim())) {
      setWrong(s.badURL);
      return;
    }
    setBusy(true);
    setWrong("");
    try {
      await work.addURL(url.trim(), namespace);
      setURL("");
    } catch (error) {
      setWrong(toApiError(error).message);
    }
    setBusy(false);
  };
  if (!can["uploads"] && !can["web_sources"]) return <p class="soft-note">{s.readOnly}</p>;
  return (
    <section class="add" aria-label={s.add}>
      {can["uploads"] && (
        <div class="add-files">
          <Icon name="upload" />
          <p>{s.dropHere}</p>
          <button type="button" class="primary" onClick={() => picker.current?.click()}>{s.choose}</button>
          <input ref={picker} type="file" multiple class="offscreen" tabIndex={-1} aria-label={s.choose}
            onChange={(e) => {
              work.upload([...(e.currentTarget.files ?? [])], namespace, app.config.value?.limits.upload ?? 0);
              e.currentTarget.value = "";
            }} />
        </div>
      )}
      <form class="add-url" onSubmit={(e) => { e.preventDefault(); void add(); }}>
        <label>
          <span>{s.url}</span>
          <input type="url" dir="ltr" value={url} placeholder="https://" autocomplete="off" aria-invalid={wrong !== ""} aria-describedby="url-wrong" onInput={(e) => setURL(e.currentTarget.value)} />
        </label>
        <button type="submit" disabled={busy || !url.trim()}>{busy ? <Spinner label={strings.working} /> : s.addURL}</button>
        <p id="url-wrong" class="bad" role="alert">{wrong}</p>
      </form>
    </section>
  );
}
