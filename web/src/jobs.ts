// Handing in documents, and following what becomes of them.
import { api, ApiError, kindOf, send, sentenceOf, toApiError } from "./api.ts";
import { Cell } from "./cell.ts";
import { strings } from "./strings.ts";
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
  request: XMLHttpRequest | null;
}

export const isFinal = (j: Job) => j.state !== "queued" && j.state !== "running";

export const jobs = new Cell<Job[]>([]);
export const transfers = new Cell<Transfer[]>([]);
export const changed = new Cell(0); // counts the jobs that have ended: the list of documents is another one then

const followed = new Set<string>();
const json = { "Content-Type": "application/json" };

/** Reads the newest jobs, and follows those at work. A server without jobs has none. */
export async function loadJobs(): Promise<void> {
  try {
    const response = await send("/api/jobs?limit=20");
    const page = (await response.json()) as { jobs: Job[] };
    jobs.value = page.jobs;
    for (const j of page.jobs) if (!isFinal(j)) void follow(j.id);
  } catch (error) {
    if (toApiError(error).kind !== "missing") throw error;
  }
}

function put(job: Job): void {
  const known = jobs.value.findIndex((j) => j.id === job.id);
  jobs.value = known < 0 ? [job, ...jobs.value] : jobs.value.with(known, job);
}

/** Follows a job to its end, over lost connections. */
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

/** Sends files as one upload. fetch cannot tell how far it is; XMLHttpRequest can. */
export function upload(files: File[], namespace: string): void {
  if (files.length === 0) return;
  const request = new XMLHttpRequest();
  const transfer: Transfer = { id: ++transferCount, names: files.map((f) => f.name), sent: 0, error: "", request };
  transfers.value = [...transfers.value, transfer];
  const update = (change: Partial<Transfer>) => {
    transfers.value = transfers.value.map((t) => (t.id === transfer.id ? { ...t, ...change } : t));
  };
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  request.open("POST", `/upload${namespace ? `?namespace=${encodeURIComponent(namespace)}` : ""}`);
  request.upload.onprogress = (e) => e.lengthComputable && update({ sent: e.loaded / e.total });
  request.onerror = () => update({ error: strings.errors.offline, request: null });
  request.onabort = () => dismiss(transfer.id);
  request.onload = () => {
    const answer = read(request.responseText);
    if (request.status >= 200 && request.status < 300) {
      dismiss(transfer.id);
      accepted(answer);
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

/** Follows the job that an answer names. */
function accepted(answer: unknown): void {
  const id = (answer as { job_id?: unknown } | null)?.job_id;
  if (typeof id === "string" && id) void follow(id);
  else changed.value++;
}

/** Has pages of the web indexed. */
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
