// One document: its details and its chunks.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { count, size } from "../format.ts";
import { documentHref } from "../markdown/parse.ts";
import { EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { ChunkRecord, DocumentRecord } from "../types.ts";

const s = strings.documents;

/** Returns a page number, or that of the nearest page if the document has no such page. doc.pages is no help: it does not count pages without text. */
async function nearest(namespace: string, doc: DocumentRecord, page: number): Promise<number> {
  const failed = await api.page(namespace, doc.id, page).then(() => "", (error) => toApiError(error).kind);
  if (failed !== "missing") return page;
  const first = Math.min(1, doc.pages); // a document without pages has its text as page 0
  return api.page(namespace, doc.id, first).then((p) => Math.max(first, Math.min(page, p.count)), () => page);
}

export function DocumentView({ id, namespace, page }: { id: string; namespace: string; page?: number }) {
  const [doc, setDoc] = useState<DocumentRecord | null>(null);
  const [chunks, setChunks] = useState<ChunkRecord[]>([]);
  const [next, setNext] = useState<number | null>(null);
  const [failed, setFailed] = useState("");
  const load = async (after?: number) => {
    try {
      const [record, page] = await Promise.all([doc ?? api.document(namespace, id), api.chunks(namespace, id, after)]);
      setDoc(record);
      setChunks((old) => (after === undefined ? page.chunks : [...old, ...page.chunks]));
      setNext(page.next);
    } catch (error) {
      setFailed(toApiError(error).kind === "missing" ? s.gone : toApiError(error).message);
    }
  };
  useEffect(() => void load(), [id, namespace]);
  useEffect(() => {
    if (!doc || page === undefined) return;
    let left = false;
    void nearest(namespace, doc, page).then((at) => {
      if (!left) app.panel.value = { kind: "document", id, namespace, name: doc.title || doc.name, page: at };
    });
    return () => {
      left = true;
    };
  }, [doc, page]);
  if (failed) return <div class="view"><div class="view-inner"><EmptyState icon="files" title={failed} actions={<a class="button" href="#/documents">{s.back}</a>} /></div></div>;
  if (!doc) return <div class="view centered"><Spinner label={strings.source.loading} /></div>;
  const show = (c?: ChunkRecord) => {
    const span = c?.spans[0];
    app.panel.value = { kind: "document", id, namespace, name: doc.title || doc.name, page: span?.page ?? (doc.pages > 0 ? 1 : 0), start: span?.start, end: span?.end };
  };
  return (
    <div class="view">
      <div class="view-inner">
        <header class="view-head">
          <a class="icon-button" href="#/documents" aria-label={s.back} title={s.back}><Icon name="left" /></a>
          <h1 dir="auto">{doc.title || doc.name}</h1>
          <button type="button" onClick={() => show()}><Icon name="files" />{s.showPages}</button>
          <a class="button" href={documentHref(doc.content_url)} target="_blank" rel="noopener noreferrer"><Icon name="open" />{strings.source.original}</a>
        </header>
        <dl class="figures">
          <div><dt>{s.name}</dt><dd class="file-name">{doc.name}</dd></div>
          <div><dt>{s.pages}</dt><dd>{doc.pages > 0 ? count(doc.pages) : "–"}</dd></div>
          <div><dt>{s.chunks}</dt><dd>{count(doc.chunks)}</dd></div>
          <div><dt>{s.size}</dt><dd>{size(doc.size)}</dd></div>
        </dl>
        {doc.attributes && (
          <section aria-label={s.attributes}>
            <h2>{s.attributes}</h2>
            <dl class="attributes">
              {Object.entries(doc.attributes).map(([key, value]) => (
                <div key={key}><dt><bdi>{key}</bdi></dt><dd><bdi>{[value].flat().join(", ")}</bdi></dd></div>
              ))}
            </dl>
          </section>
        )}
        {doc.notes && <p class="soft-note"><Icon name="warn" /> {s.partlyTitle} {doc.notes}</p>}
        <h2>{s.chunksTitle}</h2>
        <p class="soft-note">{s.chunksText}</p>
        <ol class="chunks">
          {chunks.map((c) => (
            <li key={c.ordinal}>
              <article aria-label={s.chunk(c.ordinal + 1)}>
                <header>
                  <b>{s.chunk(c.ordinal + 1)}</b>
                  <small>{[c.spans[0]?.page ? strings.chat.page(c.spans[0].page) : "", strings.chat.tokens(c.tokens), c.headings.join(" › ")].filter(Boolean).join(" · ")}</small>
                  <button type="button" class="quiet small" onClick={() => show(c)}>{s.showOnPage}</button>
                </header>
                <p dir="auto">{c.text}</p>
              </article>
            </li>
          ))}
        </ol>
        {next !== null && <button type="button" class="more" onClick={() => void load(next)}>{s.more}</button>}
      </div>
    </div>
  );
}
