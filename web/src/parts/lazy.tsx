import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { strings } from "../strings.ts";
import { EmptyState, Spinner } from "./controls.tsx";

/** A component whose code is loaded when it is first shown. A quiet one is part of a view, which is whole without it. */
export function lazy<P extends object = object>(load: () => Promise<ComponentType<P>>, { quiet = false } = {}): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [state, setState] = useState<"" | "here" | "failed">(loaded ? "here" : "");
    const fetch = () => {
      setState("");
      load().then((c) => { loaded = c; setState("here"); }, () => setState("failed"));
    };
    useEffect(() => { if (!loaded) fetch(); }, []);
    if (quiet && !loaded) return null;
    if (state === "failed") return <EmptyState icon="warn" title={strings.errors.offline} actions={<button type="button" onClick={fetch}>{strings.tryAgain}</button>} />;
    const Loaded = loaded;
    return Loaded ? <Loaded {...props} /> : <Spinner label={strings.working} />;
  };
}
