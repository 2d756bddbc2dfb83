// Questions to begin with, made from the documents that are searched.
import { api } from "./api.ts";
import { strings } from "./strings.ts";
import type { ChunkRecord, DocumentRecord } from "./types.ts";

export interface Suggestion {
  question: string;
  document: string;
}

const most = 4;
const considered = 20; // documents, the first by name: a first load waits for them
const looked = 5; // passages of each document, whose headings are topics

/** Questions to documents of a namespace, one for each: the newest of those that are considered. */
export async function suggestionsFor(namespace: string): Promise<Suggestion[]> {
  const { documents } = await api.documents(namespace, "", { limit: considered });
  const newest = documents.filter((d) => d.chunks > 0).sort((a, b) => b.indexed_at.localeCompare(a.indexed_at)).slice(0, most);
  return Promise.all(newest.map(async (d) => {
    const { chunks } = await api.outline(namespace, d.id, looked);
    return { question: questionTo(d, chunks), document: d.name };
  }));
}

/** A question to a document: about one of its headings, or about all of it. */
export function questionTo(document: Pick<DocumentRecord, "title" | "name">, chunks: Pick<ChunkRecord, "headings">[]): string {
  const title = document.title || document.name;
  const known = title.toLowerCase();
  const topic = chunks.map((c) => c.headings.at(-1)?.trim() ?? "").find((h) => isTopic(h) && !known.includes(h.toLowerCase()) && (h.endsWith("?") || !asks.test(h)));
  if (!topic) return strings.start.summary(title);
  return topic.endsWith("?") ? topic : strings.start.about(title, topic);
}

/** Headings that begin like a question make no topic of one. */
const asks = /^(what|which|how|when|where|who|why)\b/i;

/** Whether a heading names what is below it in words: code, addresses and numbers do not. */
const isTopic = (heading: string): boolean => heading.length >= 4 && heading.length <= 60 && /\p{L}{3}/u.test(heading) && /^[\p{L}\p{M}\p{N}\s,.:&'’()–-]+\??$/u.test(heading);
