import { options } from "preact";

/** Makes a change and renders it synchronously. Printing needs this: the browser does not wait for a later rendering. */
export function drawNow(change: () => void): void {
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  change();
  options.debounceRendering = before;
}
