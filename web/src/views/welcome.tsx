// What is shown before the first question.
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { EmptyState, Spinner } from "../parts/controls.tsx";
import { Mark } from "../parts/mark.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import { NamespaceSelect } from "./namespace.tsx";
import { Problems } from "./problems.tsx";

const s = strings.chat;

export function Welcome({ loading }: { loading: string }) {
  const config = useCell(app.config);
  const namespaces = useCell(app.namespaces);
  const chosen = useCell(choices).namespace;
  const online = useCell(app.online);
  const reachable = useCell(app.reachable);
  if (loading === "loading") return <div class="centered"><Spinner label={s.loading} /></div>;
  if (loading === "missing") return <EmptyState icon="chat" title={s.missing} actions={<button type="button" class="primary" onClick={app.begin}>{s.newChat}</button>}>{s.missingText}</EmptyState>;
  if (loading === "failed") return <EmptyState icon="warn" title={s.notLoaded} actions={<button type="button" class="primary" onClick={() => void app.reopen()}>{strings.tryAgain}</button>}>{s.notLoadedText}</EmptyState>;
  const count = namespaces.find((n) => n.name === (chosen || config?.namespace))?.documents ?? config?.documents ?? 0;
  if (config && count === 0 && !config.ingestion.running) {
    const elsewhere = namespaces.some((n) => n.documents > 0);
    return (
      <EmptyState icon="files" title={elsewhere ? s.noDocumentsIn(chosen || config.namespace) : s.noDocuments} actions={<a class="button primary" href="#/documents">{s.addDocuments}</a>}>
        <p>{elsewhere ? s.documentsElsewhere : s.noDocumentsText}</p>
        {elsewhere && <NamespaceSelect />}
      </EmptyState>
    );
  }
  return (
    <div class="welcome">
      <div class="welcome-mark" aria-hidden="true"><Mark /></div>
      <h2>{s.welcome}</h2>
      <p>{!online || !reachable ? strings.failures.offline.text : config ? s.welcomeText(count) : s.welcomeWait}</p>
      <Problems />
      <ul class="hints">
        {s.hints.map(([key, text]) => (
          <li key={key}><kbd>{key}</kbd> {text}</li>
        ))}
      </ul>
    </div>
  );
}
