// Uploads, and the ingestion jobs that the server makes of them.
import { api } from "./api.ts";
import { ApiError, kindOf, send, sentenceOf, toApiError } from "./calls.ts";
import { Cell } from "./cell.ts";
import { size } from "./format.ts";
import { strings } from "./strings.ts";
import { reachable } from "./reach.ts";
import { readEvents } from "./sse.ts";

export interface JobFile {
  name: string;
  state: "queued" | "indexed" | "unchanged" | "skipped" | "failed" | "cancelled";
  reason?: string;
  detail?: string;
  partly?: boolean;
  document_id?: string;
}

export interface Job {
  id: string;
  kind: string;
  state: "queued" | "running" | "done" | "partial" | "failed" | "cancelled";
  namespace: string;
  created_at: string;
  files_total: number;
  files_done: number;
  indexed: number;
  unchanged: number;
  skipped: number;
  failed: number;
  partly: number;
  chunks: number;
  message: string;
  error: string | null;
  cancelling: boolean;
  files?: JobFile[];
}

/** Transfer is an upload on its way to the server. */
export interface Transfer {
  id: number;
  names: string[];
  sent: number; // 0 to 1
  error: string;
  request: XMLHttpRequest | null; // null once it has ended
  job: string; // the id of the job that the server created for it; "" until then
  asked: boolean; // the files were attached where questions are asked
}

export const isFinal = (j: Job) => j.state !== "queued" && j.state !== "running";

export const jobs = new Cell<Job[]>([]);
export const transfers = new Cell<Transfer[]>([]);
export const changed = new Cell(0); // counts changes to documents: whoever shows them reloads when it changes

const followed = new Set<string>();
const json = { "Content-Type": "application/json" };

const maxNamed = 500; // files; the names in larger jobs are not fetched

/**
 * Loads the newest jobs of a namespace, and follows those in progress. The list has no file names and no reasons:
 * those already known are kept, the others are fetched. A server without the jobs API (404) is not an error.
 */
export async function loadJobs(namespace: string): Promise<void> {
  try {
    const response = await send(`/api/jobs?limit=20&namespace=${encodeURIComponent(namespace)}`);
    const page = (await response.json()) as { jobs: Job[] };
    const known = new Map(jobs.value.map((j) => [j.id, j.files]));
    jobs.value = page.jobs.map((j) => ({ ...j, files: j.files ?? known.get(j.id) }));
    for (const j of jobs.value) {
      if (!isFinal(j)) void follow(j.id);
      else if (!j.files && j.files_total <= maxNamed) void name(j.id);
    }
  } catch (error) {
    if (toApiError(error).kind !== "missing") throw error;
  }
}

async function name(id: string): Promise<void> {
  try {
    const job = (await (await send(`/api/jobs/${encodeURIComponent(id)}`)).json()) as Job;
    if (jobs.value.some((j) => j.id === id)) put(job);
  } catch {
    // The job is shown without file names.
  }
}

function put(job: Job): void {
  const known = jobs.value.findIndex((j) => j.id === job.id);
  jobs.value = known < 0 ? [job, ...jobs.value] : jobs.value.with(known, job);
}

/** Follows a job to its end, reconnecting when the connection is lost. Gives up after 60 tries without news. */
export async function follow(id: string): Promise<void> {
  if (followed.has(id)) return;
  followed.add(id);
  try {
    for (let tries = 0; tries < 60; tries++) {
      try {
        const response = await send(`/api/jobs/${encodeURIComponent(id)}/events`);
        for await (const { data } of readEvents(response)) {
          const job = JSON.parse(data) as Job;
          put(job);
          tries = 0;
          if (isFinal(job)) return;
        }
      } catch (error) {
        if (toApiError(error).kind === "missing") return;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** tries, 8000)));
    }
  } finally {
    followed.delete(id);
    changed.value++;
  }
}

let transferCount = 0;

/** Sends files as one upload. It uses XMLHttpRequest, since fetch reports no progress. `limit` is the server's, in bytes; 0 for none. */
export function upload(files: File[], namespace: string, limit: number, asked = false): void {
  if (files.length === 0) return;
  const request = new XMLHttpRequest();
  const transfer: Transfer = { id: ++transferCount, names: files.map((f) => f.name), sent: 0, error: "", request, job: "", asked };
  const tooLarge = limit > 0 && files.reduce((sum, f) => sum + f.size, 0) > limit;
  if (tooLarge) {
    transfers.value = [...transfers.value, { ...transfer, request: null, error: strings.documents.tooLarge(files.length, size(limit)) }];
    return;
  }
  transfers.value = [...transfers.value, transfer];
  const update = (change: Partial<Transfer>) => {
    transfers.value = transfers.value.map((t) => (t.id === transfer.id ? { ...t, ...change } : t));
  };
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  request.open("POST", `/upload${namespace ? `?namespace=${encodeURIComponent(namespace)}` : ""}`);
  request.upload.onprogress = (e) => e.lengthComputable && update({ sent: e.loaded / e.total });
  request.onerror = () => {
    reachable.value = false;
    update({ error: strings.errors.offline, request: null });
  };
  request.onabort = () => dismiss(transfer.id);
  request.onload = () => {
    reachable.value = true;
    const answer = read(request.responseText);
    if (request.status >= 200 && request.status < 300) {
      update({ sent: 1, request: null, job: accepted(answer) });
    } else {
      const said = sentenceOf(answer) || strings.errors.status(request.status);
      update({ error: kindOf(request.status, said) === "missing" ? strings.documents.noUploads : said, request: null });
    }
  };
  request.send(form);
}

export function dismiss(id: number): void {
  transfers.value = transfers.value.filter((t) => t.id !== id);
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Follows the job that a response names, and returns its id, "" if there is none. */
function accepted(answer: unknown): string {
  const id = (answer as { job_id?: unknown } | null)?.job_id;
  if (typeof id !== "string" || !id) {
    changed.value++;
    return "";
  }
  void follow(id);
  return id;
}

/** Has the server index a web page. */
export async function addURL(url: string, namespace: string): Promise<void> {
  const body = JSON.stringify({ urls: [url], ...(namespace ? { namespace } : {}) });
  let response: Response;
  try {
    response = await send("/index", { method: "POST", headers: json, body });
  } catch (error) {
    if (toApiError(error).kind === "missing") throw new ApiError("missing", strings.documents.noURLs);
    throw error;
  }
  accepted(await response.json());
}

export async function cancelJob(id: string): Promise<void> {
  put((await (await send(`/api/jobs/${encodeURIComponent(id)}/cancel`, { method: "POST" })).json()) as Job);
}

export async function retryJob(id: string): Promise<void> {
  put((await (await send(`/api/jobs/${encodeURIComponent(id)}/retry`, { method: "POST" })).json()) as Job);
  void follow(id);
}

export async function reindex(namespace: string, id: string): Promise<void> {
  accepted(await api.reindex(namespace, id));
}
