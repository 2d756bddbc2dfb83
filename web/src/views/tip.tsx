// The tooltip of a citation, shown on hover and on focus: the cited words in their passage.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Cell, useCell } from "../cell.ts";
import { strings } from "../strings.ts";
import type { Citation } from "../types.ts";

interface Tip {
  at: Element;
  citation: Citation;
}

class TipCell extends Cell<Tip | null> {
  private timer = 0;
  private focused: Tip | null = null;
  private muted = false;
  private resting = false; // the page has changed below the pointer, which has not moved since

  /** Shows the tip when a mouse moves onto a citation; touch does not hover. */
  enter(event: PointerEvent, citation: Citation): void {
    if (event.pointerType === "mouse" && !this.resting) this.show(event.currentTarget as Element, citation);
  }

  private show(at: Element, citation: Citation): void {
    this.later({ at, citation }, this.value ? 0 : 120);
  }

  /** Hides the tip after a delay that leaves time to move the pointer onto it. A focused citation gets its tip back. */
  hide(): void {
    this.later(this.focused, 160);
  }

  keep(): void {
    clearTimeout(this.timer);
  }

  /** Returns the focus to an element without showing its tip. */
  focusQuietly(el: HTMLElement): void {
    this.muted = this.resting = true;
    const moved = (event: PointerEvent) => {
      if (event.movementX === 0 && event.movementY === 0) return; // browsers fire this when the page changes below a resting pointer
      this.resting = false;
      removeEventListener("pointermove", moved, { capture: true });
    };
    addEventListener("pointermove", moved, { capture: true, passive: true });
    el.focus({ preventScroll: true });
    this.muted = false;
  }

  focus(at: Element, citation: Citation): void {
    if (this.muted) return;
    this.focused = { at, citation };
    this.later(this.focused, 0);
  }

  blur(): void {
    this.focused = null;
    this.hide();
  }

  /** Hides the tip at once. */
  close(): void {
    clearTimeout(this.timer);
    this.focused = null;
    this.value = null;
  }

  private later(next: Tip | null, ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.value = next), ms);
  }
}

export const tip = new TipCell(null);

const gap = 8;

export function CitationTip() {
  const shown = useCell(tip);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!shown || !box.current) return;
    place(box.current, shown.at);
    shown.at.setAttribute("aria-describedby", "citation-tip");
    return () => shown.at.removeAttribute("aria-describedby");
  }, [shown]);
  useEffect(() => {
    const close = () => tip.close();
    const key = (e: KeyboardEvent) => e.key === "Escape" && close();
    const scrolled = () => {
      if (!tip.value || !box.current) return;
      // A focused citation keeps its tip, even out of sight: messages rendered while scrolling may move it.
      if (tip.value.at === document.activeElement || isInSight(tip.value.at)) place(box.current, tip.value.at);
      else close();
    };
    addEventListener("keydown", key);
    addEventListener("scroll", scrolled, { capture: true, passive: true });
    return () => {
      removeEventListener("keydown", key);
      removeEventListener("scroll", scrolled, { capture: true });
    };
  }, []);
  if (!shown) return null;
  const { citation } = shown;
  return (
    <div ref={box} id="citation-tip" class="tip" role="tooltip" onMouseEnter={() => tip.keep()} onMouseLeave={() => tip.hide()}>
      <strong dir="auto">{citation.title || citation.name}</strong>
      {citation.page > 0 && <span class="page">{strings.chat.page(citation.page)}</span>}
      <p dir="auto">
        <Passage text={citation.passage} quote={citation.quote} />
      </p>
      {!citation.supported && <p class="warn">{strings.chat.unsupported}</p>}
      {citation.stale && <p class="warn">{strings.source.stale}</p>}
    </div>
  );
}

const around = 180; // characters of the passage on each side of the cited words

/** A passage with the cited words marked, shortened to the text around them unless `whole`. */
export function Passage({ text, quote, whole = false }: { text: string; quote: string; whole?: boolean }) {
  const passage = text.replace(/\s+/g, " ");
  const words = quote.replace(/\s+/g, " ").trim();
  const at = words ? passage.indexOf(words) : -1;
  if (at < 0 && words) return <mark>{words}</mark>;
  if (at < 0) return <>{whole ? passage : clip(passage, 2 * around)}</>;
  const before = passage.slice(0, at);
  const after = passage.slice(at + words.length);
  return (
    <>
      {whole || before.length <= around ? before : `… ${before.slice(-around).replace(/^\S*\s/, "")}`}
      <mark>{words}</mark>
      {whole ? after : clip(after, around)}
    </>
  );
}

/** Shortens a text to about n characters, at the end of a word. */
const clip = (text: string, n: number) => (text.length <= n ? text : `${text.slice(0, n).replace(/\s\S*$/, "")} …`);

function isInSight(at: Element): boolean {
  const { top, bottom } = at.getBoundingClientRect();
  return at.isConnected && bottom > 0 && top < innerHeight;
}

function place(box: HTMLElement, at: Element): void {
  const anchor = at.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const above = anchor.top - height - gap;
  const left = Math.max(gap, Math.min(anchor.left - 20, innerWidth - width - gap));
  box.style.left = `${left}px`;
  const lowest = innerHeight - height - gap;
  box.style.top = `${Math.max(gap, Math.min(above > gap ? above : anchor.bottom + gap, lowest))}px`;
}
