// Whether the server can be reached. Every request of the page goes through reach, so that there is one answer to it.
import { Cell } from "./cell.ts";

export const reachable = new Cell(true);

let credentials: RequestCredentials = "same-origin";

/** From now on, requests are made without cookies, and nobody is sent to where one signs in. */
export function strangers(): void {
  credentials = "omit";
}

/** reach makes a request and notes whether the server answered at all. A request that its caller gave up says nothing. */
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

/** wasAborted reports whether a signal was aborted by somebody, and not by its time limit. */
const wasAborted = (signal: AbortSignal | null | undefined) =>
  signal?.aborted === true && (signal.reason as { name?: unknown } | null)?.name !== "TimeoutError";

/** signInPath returns the address at which people sign in and come back to where they are. */
export const signInPath = () => `/sign-in?back=${encodeURIComponent(location.pathname + location.search + location.hash)}`;

let leaving = false;

/** The server does not know who asks. The page that lets them sign in is the server's own. */
function signIn(): void {
  if (!leaving) location.assign(signInPath());
  leaving = true;
}
