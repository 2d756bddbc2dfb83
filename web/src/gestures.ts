// Swipes on touch screens. A swipe from the start edge (the left one in left-to-right languages) closes the panel if it is open,
// and otherwise opens the list of conversations; a swipe back closes that list. A swipe down on the panel's head closes the panel.
import * as app from "./app.ts";

const edge = 40; // px from the edge in which a swipe must begin
const shortest = 60; // px that a swipe must cover

interface Touch {
  x: number;
  y: number;
  onHead: boolean;
}

let begun: Touch | null = null;

function start(event: TouchEvent): void {
  const [touch] = event.touches;
  const target = event.target as Element;
  begun = event.touches.length === 1 && touch ? { x: touch.clientX, y: touch.clientY, onHead: target.closest(".panel-head") !== null } : null;
}

function end(event: TouchEvent): void {
  const [touch] = event.changedTouches;
  const from = begun;
  begun = null;
  if (!from || !touch || event.touches.length > 0 || document.querySelector("dialog[open]")) return;
  const rtl = document.documentElement.dir === "rtl";
  const right = touch.clientX - from.x;
  const onwards = rtl ? -right : right;
  const down = touch.clientY - from.y;
  const atEdge = (rtl ? innerWidth - from.x : from.x) <= edge;
  if (from.onHead && down > shortest && down > 2 * Math.abs(onwards)) app.closePanel();
  else if (Math.abs(onwards) < shortest || Math.abs(onwards) < 2 * Math.abs(down)) return;
  else if (onwards < 0) app.drawer.value = false;
  else if (atEdge && app.panel.value) app.closePanel();
  else if (atEdge && document.querySelector(".top-bar")?.checkVisibility()) app.drawer.value = true;
}

/** Installs the listeners for swipes. */
export function watchSwipes(): void {
  addEventListener("touchstart", start, { passive: true });
  addEventListener("touchend", end, { passive: true });
  addEventListener("touchcancel", () => (begun = null), { passive: true });
}
