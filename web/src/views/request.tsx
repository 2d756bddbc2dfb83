// "View as API request": the current question as curl, in each protocol.
import { useEffect, useMemo, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { historyOf, pathOf } from "../conversation.ts";
import { CopyButton, Dialog } from "../parts/controls.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { allRequests, curlOf } from "../requests.ts";
import { scope } from "../scope.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";

const s = strings.request;

export function RequestDialog() {
  const conversation = useCell(app.conversation);
  const chosen = useCell(choices);
  const draft = useCell(app.draft);
  const documents = useCell(scope);
  const [at, setAt] = useState(0);
  useEffect(app.loadHistory, []);
  const requests = useMemo(() => {
    const path = pathOf(conversation).map((p) => p.message);
    const last = path.findLastIndex((m) => m.role === "user");
    const asked = draft.trim() ? { text: draft.trim(), history: historyOf(path) } :
      last >= 0 ? { text: path[last]!.text, history: historyOf(path.slice(0, last)) } : { text: s.example, history: [] };
    return allRequests({ ...asked, choices: chosen, documents: documents.map((d) => d.id) });
  }, [conversation, chosen, draft, documents]);
  const request = requests[at]!;
  const curl = curlOf(request, location.origin);
  return (
    <Dialog title={s.title} onClose={() => (app.overlay.value = "")} class="request">
      <p class="soft-note">{s.text}</p>
      <Tabs label={s.protocols} name="protocol" tabs={requests.map((r) => ({ id: r.protocol, title: s.names[r.protocol] }))} at={request.protocol}
        select={(id) => setAt(requests.findIndex((r) => r.protocol === id))} />
      <div id="protocol-panel" role="tabpanel" aria-labelledby={`protocol-${request.protocol}`}>
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
  key === "models" ? strings.settings.models : key === "documents" ? strings.scope.documents : key === "namespace" ? strings.documents.namespace :
    (strings.settings.each[key as keyof typeof strings.settings.each]?.[0] ?? key);
