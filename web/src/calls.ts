// Requests to the server, and why they fail. Nothing here depends on the page.
import { reach } from "./reach.ts";
import { strings } from "./strings.ts";

/** FailureKind is why a request failed. Each kind has its own message for the user. */
export type FailureKind =
  | "offline" | "busy" | "budget" | "key" | "provider" | "missing" | "invalid" | "failed"
  | "refusedKey" | "noCredit" | "noModel" | "limited" | "unreachable" | "slow" | "tooLong" | "filtered";

/** ApiError says that the server refused a request, or that the request did not reach it. */
export class ApiError extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly status = 0,
    readonly retryAfter = 0, // seconds
  ) {
    super(message);
  }
}

/** How long an ordinary request may take before the server counts as unreachable. */
export const patience = 30_000; // ms

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("offline", strings.errors.offline);
}

/** send makes a request. It throws an ApiError if it fails, and the error of fetch if its signal was aborted or timed out. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await reach(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("offline", strings.errors.offline);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** json makes a request and returns the JSON of its response. Unless `init` has a signal, it gives up after `patience`. */
export async function json<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await send(path, { signal: AbortSignal.timeout(patience), ...init });
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError("offline", strings.errors.offline, response.status);
  }
}

/** refusal turns an error response into an ApiError. It understands the error format of every protocol of the server. */
export async function refusal(response: Response): Promise<ApiError> {
  let sentence = "";
  let code = "";
  try {
    const body: unknown = await response.json();
    sentence = sentenceOf(body);
    code = codeOf(body);
  } catch {
    // Not JSON: a proxy answered, or the connection broke.
  }
  const retryAfter = retrySeconds(response.headers.get("Retry-After"));
  return new ApiError(kindOf(response.status, sentence, code), sentence || strings.errors.status(response.status), response.status, retryAfter);
}

export function sentenceOf(body: unknown): string {
  if (typeof body !== "object" || body === null) return "";
  const { error, message, detail } = body as Record<string, unknown>;
  for (const candidate of [error, detail, message]) {
    if (typeof candidate === "string" && candidate) return candidate;
    if (typeof candidate === "object" && candidate !== null) {
      const inner = (candidate as Record<string, unknown>)["message"];
      if (typeof inner === "string" && inner) return inner;
    }
  }
  return "";
}

/** codeOf returns the lower-case code of an error response, "" if it has none. */
export function codeOf(body: unknown): string {
  const error = typeof body === "object" && body !== null ? (body as Record<string, unknown>)["error"] : null;
  const code = typeof error === "object" && error !== null ? (error as Record<string, unknown>)["code"] : "";
  return typeof code === "string" ? code.toLowerCase() : "";
}

/** The kinds of failure for the server's error codes about models and their providers. */
const kindsByCode: Record<string, FailureKind> = {
  provider_key_refused: "refusedKey",
  provider_no_credit: "noCredit",
  provider_model_not_found: "noModel",
  provider_rate_limited: "limited",
  provider_unreachable: "unreachable",
  provider_timeout: "slow",
  context_length_exceeded: "tooLong",
  content_filter: "filtered",
};

export function kindOf(status: number, sentence: string, code = ""): FailureKind {
  const known = kindsByCode[code];
  if (known) return known;
  switch (status) {
    case 404:
      return "missing";
    case 429:
      return /budget/i.test(sentence) ? "budget" : "busy";
    case 401:
    case 403:
      return "key";
    case 400:
    case 413:
    case 415:
    case 422:
      return /\bkey\b|not configured|no provider/i.test(sentence) ? "key" : "invalid";
    case 500:
    case 502:
    case 503:
    case 504:
      return "provider";
    default:
      return "failed";
  }
}

function retrySeconds(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

export const turnPath = (id: string): string => `/api/turns/${encodeURIComponent(id)}`;
