import { options } from "preact";

/** Makes a change whose drawing must not wait, since the browser goes on right behind it: printing does. */
export function drawNow(change: () => void): void {
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  change();
  options.debounceRendering = before;
}
