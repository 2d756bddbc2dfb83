// The side panel. The code of its content is loaded on demand.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { IconButton } from "../parts/controls.tsx";
import { lazy } from "../parts/lazy.tsx";
import { strings } from "../strings.ts";
import { tip } from "./tip.tsx";

const PanelContent = lazy(() => import("./panelcontent.tsx").then((m) => m.PanelContent), {
  head: () => <header class="panel-head"><h2>{strings.source.label}</h2><IconButton icon="close" label={strings.close} onClick={app.closePanel} /></header>,
});

/** Loads the code of the content in advance, while the browser is idle, once the conversation has messages. */
function usePreload(): void {
  useEffect(() => {
    const check = () => {
      if (app.conversation.value.messages.length === 0) return;
      stop();
      const whenIdle = window.requestIdleCallback ?? setTimeout;
      whenIdle(() => PanelContent.preload());
    };
    const stop = app.conversation.watch(check);
    check();
    return stop;
  }, []);
}

export function SidePanel() {
  const panel = useCell(app.panel);
  const root = useRef<HTMLElement>(null);
  const opener = useRef<Element | null>(null);
  const shown = panel !== null;
  usePreload();
  // A layout effect, so that the focus is back before a key can be pressed after the panel has closed.
  useLayoutEffect(() => {
    if (!shown) return;
    opener.current = document.activeElement;
    root.current?.focus();
    return () => {
      if (opener.current instanceof HTMLElement && opener.current.isConnected) tip.focusQuietly(opener.current);
    };
  }, [shown]);
  if (!panel) return null;
  const label = panel.kind === "thinking" ? strings.thinking.title : strings.source.label;
  return (
    <aside class="panel" ref={root} tabIndex={-1} aria-label={label}>
      <PanelContent panel={panel} />
    </aside>
  );
}
