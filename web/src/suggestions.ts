// Suggested first questions, made from the documents of the collection.
import { api } from "./api.ts";
import { strings } from "./strings.ts";
import type { ChunkRecord, DocumentRecord } from "./types.ts";

export interface Suggestion {
  question: string;
  document: string;
}

const most = 4;
const considered = 20; // documents, the first by name; the suggestions wait for this request
const looked = 5; // passages per document whose headings are considered as topics

/** Suggests one question for each of the newest documents, among those considered, of a namespace. */
export async function suggestionsFor(namespace: string): Promise<Suggestion[]> {
  const { documents } = await api.documents(namespace, "", { limit: considered });
  const newest = documents.filter((d) => d.chunks > 0).sort((a, b) => b.indexed_at.localeCompare(a.indexed_at)).slice(0, most);
  return Promise.all(newest.map(async (d) => {
    const { chunks } = await api.outline(namespace, d.id, looked);
    return { question: questionTo(d, chunks), document: d.name };
  }));
}

/** Returns a question about one of a document's headings, or else asks for a summary of the document. */
export function questionTo(document: Pick<DocumentRecord, "title" | "name">, chunks: Pick<ChunkRecord, "headings">[]): string {
  const title = document.title || document.name;
  const known = title.toLowerCase();
  const topic = chunks.map((c) => c.headings.at(-1)?.trim() ?? "").find((h) => isTopic(h) && !known.includes(h.toLowerCase()) && (h.endsWith("?") || !asks.test(h)));
  if (!topic) return strings.start.summary(title);
  return topic.endsWith("?") ? topic : strings.start.about(title, topic);
}

/** Headings that begin like a question; without a question mark they do not work as a topic. */
const asks = /^(what|which|how|when|where|who|why)\b/i;

/** Whether a heading is a usable topic in words, and not code, an address or a number. */
const isTopic = (heading: string): boolean => heading.length >= 4 && heading.length <= 60 && /\p{L}{3}/u.test(heading) && /^[\p{L}\p{M}\p{N}\s,.:&'’()–-]+\??$/u.test(heading);
