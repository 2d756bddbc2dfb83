import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { strings } from "../strings.ts";
import { EmptyState, Spinner } from "./controls.tsx";

/** LazyComponent is a component whose code can be loaded before it is shown. */
export type LazyComponent<P> = ComponentType<P> & { preload: () => Promise<void> };

interface Options {
  quiet?: boolean; // show nothing until it is loaded, or if that fails
  head?: () => ComponentChildren; // shown above the spinner or the error
}

/** Returns a component whose code is loaded when it is first shown. */
export function lazy<P extends object = object>(load: () => Promise<ComponentType<P>>, { quiet = false, head }: Options = {}): LazyComponent<P> {
  let loaded: ComponentType<P> | null = null;
  const get = () => load().then((c) => { loaded = c; });
  const preload = () => get().catch(() => {}); // it is tried again when it is shown
  function Lazy(props: P) {
    const [state, setState] = useState<"" | "here" | "failed">(loaded ? "here" : "");
    const fetch = () => {
      setState("");
      get().then(() => setState("here"), () => setState("failed"));
    };
    useEffect(() => { if (loaded) setState("here"); else fetch(); }, []); // it may have been loaded since the first rendering
    if (quiet && !loaded) return null;
    const Loaded = loaded;
    if (Loaded && state !== "failed") return <Loaded {...props} />;
    return (
      <>
        {head?.()}
        {state === "failed" ? <EmptyState icon="warn" title={strings.errors.offline} actions={<button type="button" onClick={fetch}>{strings.tryAgain}</button>} /> : <Spinner label={strings.working} />}
      </>
    );
  }
  return Object.assign(Lazy, { preload });
}
