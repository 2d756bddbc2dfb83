import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { strings } from "../strings.ts";
import { EmptyState, Spinner } from "./controls.tsx";

/** LazyComponent can be loaded before it is shown. */
export type LazyComponent<P> = ComponentType<P> & { preload: () => Promise<void> };

/** A component whose code is loaded when it is first shown. A quiet one is part of a view, which is whole without it. */
export function lazy<P extends object = object>(load: () => Promise<ComponentType<P>>, { quiet = false } = {}): LazyComponent<P> {
  let loaded: ComponentType<P> | null = null;
  const get = () => load().then((c) => { loaded = c; });
  const preload = () => get().catch(() => {}); // it is loaded when it is shown, then
  function Lazy(props: P) {
    const [state, setState] = useState<"" | "here" | "failed">(loaded ? "here" : "");
    const fetch = () => {
      setState("");
      get().then(() => setState("here"), () => setState("failed"));
    };
    useEffect(() => { if (!loaded) fetch(); }, []);
    if (quiet && !loaded) return null;
    if (state === "failed") return <EmptyState icon="warn" title={strings.errors.offline} actions={<button type="button" onClick={fetch}>{strings.tryAgain}</button>} />;
    const Loaded = loaded;
    return Loaded ? <Loaded {...props} /> : <Spinner label={strings.working} />;
  }
  return Object.assign(Lazy, { preload });
}
