import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { strings } from "../strings.ts";
import { EmptyState, Spinner } from "./controls.tsx";

/** A component whose code is loaded when it is first shown. */
export function lazy(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
  return function Lazy() {
    const [state, setState] = useState<"" | "here" | "failed">(loaded ? "here" : "");
    const fetch = () => {
      setState("");
      load().then((c) => { loaded = c; setState("here"); }, () => setState("failed"));
    };
    useEffect(() => { if (!loaded) fetch(); }, []);
    if (state === "failed") return <EmptyState icon="warn" title={strings.errors.offline} actions={<button type="button" onClick={fetch}>{strings.tryAgain}</button>} />;
    const Loaded = loaded;
    return Loaded ? <Loaded /> : <Spinner label={strings.working} />;
  };
}
