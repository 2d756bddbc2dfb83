// What an empty conversation shows: suggested questions, or the first steps on a new server.
import { useEffect, useRef, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { Mark } from "../parts/mark.tsx";
import { modelName } from "../models.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import { suggestionsFor, type Suggestion } from "../suggestions.ts";
import { attach } from "./attachments.tsx";
import { NamespaceSelect } from "./namespace.tsx";
import { Problems } from "./problems.tsx";

const s = strings.chat;

export function Welcome({ loading }: { loading: string }) {
  const config = useCell(app.config);
  const namespaces = useCell(app.namespaces);
  const chosen = useCell(choices).namespace;
  const online = useCell(app.online);
  const reachable = useCell(app.reachable);
  const begin = <button type="button" class="primary" onClick={app.begin}>{s.newChat}</button>;
  const again = <button type="button" class="primary" onClick={() => void app.reopen()}>{strings.tryAgain}</button>;
  if (loading === "loading") return <div class="centered"><Spinner label={s.loading} /></div>;
  if (loading === "missing") return <EmptyState icon="chat" title={s.missing} actions={begin}>{s.missingText}</EmptyState>;
  if (loading === "failed") return <EmptyState icon="warn" title={s.notLoaded} actions={again}>{s.notLoadedText}</EmptyState>;
  const count = namespaces.find((n) => n.name === (chosen || config?.namespace))?.documents ?? config?.documents ?? 0;
  if (config && count === 0 && !config.ingestion.running) {
    const elsewhere = namespaces.some((n) => n.documents > 0);
    return elsewhere ? <Elsewhere namespace={chosen || config.namespace} /> : <FirstRun />;
  }
  const text = !online || !reachable ? strings.failures.offline.text : config ? s.welcomeText(count) : s.welcomeWait;
  return (
    <div class="welcome">
      <div class="welcome-mark" aria-hidden="true"><Mark /></div>
      <h2>{s.welcome}</h2>
      <p>{text}</p>
      {config && <Suggestions key={`${chosen} ${count}`} namespace={chosen} />}
      <Problems />
      <ul class="hints">
        {s.hints.map(([key, hint]) => (
          <li key={key}><kbd>{key}</kbd> {hint}</li>
        ))}
      </ul>
    </div>
  );
}

/** Shown when only other collections have documents. */
function Elsewhere({ namespace }: { namespace: string }) {
  return (
    <EmptyState icon="files" title={s.noDocumentsIn(namespace)} actions={<a class="button primary" href="#/documents">{s.addDocuments}</a>}>
      <p>{s.documentsElsewhere}</p>
      <NamespaceSelect />
    </EmptyState>
  );
}

function Suggestions({ namespace }: { namespace: string }) {
  const [found, setFound] = useState<Suggestion[]>([]);
  useEffect(() => {
    let left = false;
    suggestionsFor(namespace).then((list) => !left && setFound(list), () => {}); // suggestions are optional
    return () => {
      left = true;
    };
  }, []);
  if (found.length === 0) return null;
  return (
    <ul class="question-cards" aria-label={strings.start.questions}>
      {found.map((x) => (
        <li key={x.document}>
          <button type="button" onClick={() => void app.ask(x.question)}>
            <span dir="auto">{x.question}</span>
            <small dir="auto">{x.document}</small>
          </button>
        </li>
      ))}
    </ul>
  );
}

async function trySamples(): Promise<void> {
  try {
    attach((await import("../samples.ts")).samples());
  } catch {
    app.tell(strings.errors.offline, true);
  }
}

/** The first steps on a new server: documents, a model, a question. */
function FirstRun() {
  const config = useCell(app.config)!;
  const picker = useRef<HTMLInputElement>(null);
  const w = strings.start;
  const uploads = config.capabilities["uploads"] ?? false;
  return (
    <EmptyState icon="files" title={s.noDocuments}>
      <ol class="first-run">
        <li>
          <h3>{w.documents}</h3>
          <p>{uploads ? w.documentsText : strings.documents.noneFolder}</p>
          {uploads && (
            <p>
              <button type="button" class="primary" onClick={() => picker.current?.click()}><Icon name="upload" />{strings.documents.choose}</button>
              <button type="button" onClick={() => void trySamples()}>{w.samples}</button>
              <a href="#/documents">{w.webPage}</a>
              <input ref={picker} type="file" multiple class="offscreen" tabIndex={-1} aria-label={strings.documents.choose}
                onChange={(e) => {
                  attach(e.currentTarget.files ?? []);
                  e.currentTarget.value = "";
                }} />
            </p>
          )}
        </li>
        <li>
          <h3>{w.model}</h3>
          <p>{config.builtin ? w.noModel : w.hasModel(modelName(config.model))}</p>
        </li>
        <li>
          <h3>{w.ask}</h3>
          <p>{w.askText}</p>
        </li>
      </ol>
    </EmptyState>
  );
}
