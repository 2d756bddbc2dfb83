// The panel at the side, whose content is loaded when it is needed.
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

/** Loads the content before it is asked for, once there is an answer whose sources can be opened. */
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
  // Before the next paint: a key that is pressed right after the panel has closed must find its way.
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
