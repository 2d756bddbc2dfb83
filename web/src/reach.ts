// Whether the server can be reached. Requests go through reach, so that the whole page has one answer.
import { Cell } from "./cell.ts";

export const reachable = new Cell(true);

let credentials: RequestCredentials = "same-origin";

/** Makes all further requests without cookies, and without redirecting to the sign-in page. */
export function strangers(): void {
  credentials = "omit";
}

/** reach makes a request and records in `reachable` whether the server answered. A request that its caller aborted is not counted. */
export async function reach(path: string, init: RequestInit = {}): Promise<Response> {
  try {
    const response = await fetch(path, { credentials, ...init });
    reachable.value = true;
    if (response.status === 401 && credentials !== "omit") signIn();
    return response;
  } catch (error) {
    if (!wasAborted(init.signal)) reachable.value = false;
    throw error;
  }
}

/** wasAborted reports whether a signal was aborted other than by its time limit. */
const wasAborted = (signal: AbortSignal | null | undefined) =>
  signal?.aborted === true && (signal.reason as { name?: unknown } | null)?.name !== "TimeoutError";

/** signInPath returns the address of the sign-in page, which leads back to the current view. */
export const signInPath = () => `/sign-in?back=${encodeURIComponent(location.pathname + location.search + location.hash)}`;

let leaving = false;

/** Goes to the server's sign-in page, once. */
function signIn(): void {
  if (!leaving) location.assign(signInPath());
  leaving = true;
}
