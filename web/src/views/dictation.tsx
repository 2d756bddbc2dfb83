// Dictation, in browsers that support it. The recognized text is appended to the question.
import { useEffect, useRef, useState } from "preact/hooks";
import * as app from "../app.ts";
import { IconButton } from "../parts/controls.tsx";
import { language } from "../lang.ts";
import { strings } from "../strings.ts";

interface Recognition extends EventTarget {
  lang: string;
  interimResults: boolean;
  continuous: boolean;
  start(): void;
  stop(): void;
  abort(): void;
}

interface Heard extends Event {
  results: ArrayLike<ArrayLike<{ transcript: string }>>;
}

const kind = (window as unknown as Record<string, (new () => Recognition) | undefined>);
const Recognizer = window.isSecureContext ? kind["SpeechRecognition"] ?? kind["webkitSpeechRecognition"] : undefined;

export function Dictation() {
  const [on, setOn] = useState(false);
  const heard = useRef<Recognition | null>(null);
  useEffect(() => () => heard.current?.abort(), []);
  if (!Recognizer) return null;
  const start = () => {
    const r = (heard.current = new Recognizer());
    const before = app.draft.value ? `${app.draft.value.trimEnd()} ` : "";
    r.lang = language;
    r.interimResults = r.continuous = true;
    r.addEventListener("result", (e) => (app.draft.value = before + [...Array.from((e as Heard).results)].map((x) => x[0]?.transcript ?? "").join("")));
    r.addEventListener("error", (e) => (e as Event & { error?: string }).error !== "aborted" && app.tell(strings.dictation.failed, true));
    r.addEventListener("end", () => setOn(false));
    r.start();
    setOn(true);
  };
  return <IconButton icon="mic" label={on ? strings.dictation.stop : strings.dictation.start} pressed={on} onClick={() => (on ? heard.current?.stop() : start())} />;
}
