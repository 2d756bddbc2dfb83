// "Show me the request": the current question as curl, in each protocol.
import { useMemo, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { historyOf, pathOf } from "../conversation.ts";
import { CopyButton, Dialog } from "../parts/controls.tsx";
import { allRequests, curlOf } from "../requests.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.request;

export function RequestDialog() {
  const conversation = useCell(app.conversation);
  const chosen = useCell(choices);
  const draft = useCell(app.draft);
  const [at, setAt] = useState(0);
  const requests = useMemo(() => {
    const path = pathOf(conversation);
    const last = path.findLastIndex((p) => p.message.role === "user");
    const asked = draft.trim() ? { text: draft.trim(), history: historyOf(path) } :
      last >= 0 ? { text: path[last]!.message.text, history: historyOf(path.slice(0, last)) } : { text: s.example, history: [] };
    return allRequests({ ...asked, choices: chosen });
  }, [conversation, chosen, draft]);
  const request = requests[at]!;
  const curl = curlOf(request, location.origin);
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = (at + step + requests.length) % requests.length;
    setAt(next);
    document.getElementById(`protocol-${next}`)?.focus();
  };
  return (
    <Dialog title={s.title} onClose={() => (app.overlay.value = "")} class="request">
      <p class="soft-note">{s.text}</p>
      <div class="tabs" role="tablist" aria-label={s.protocols} onKeyDown={keys}>
        {requests.map((r, i) => (
          <button key={r.protocol} id={`protocol-${i}`} type="button" role="tab" aria-selected={i === at} aria-controls="protocol-request" tabIndex={i === at ? 0 : -1} onClick={() => setAt(i)}>
            {s.names[r.protocol]}
          </button>
        ))}
      </div>
      <div id="protocol-request" role="tabpanel" aria-labelledby={`protocol-${at}`}>
        <figure class="code">
          <figcaption><span class="language">POST {request.path}</span><CopyButton text={curl} label={s.copy} words={strings.copy} small /></figcaption>
          <pre tabIndex={0}><code>{curl}</code></pre>
        </figure>
        {request.left.length > 0 && <p class="warn-note">{s.left(request.left.map(nameOf))}</p>}
      </div>
    </Dialog>
  );
}

const nameOf = (key: string): string =>
  key === "models" ? strings.settings.models : key === "namespace" ? strings.documents.namespace :
    (strings.settings.each[key as keyof typeof strings.settings.each]?.[0] ?? key);
