// Sharing a conversation by link: creating, copying, renewing and revoking the link.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { loadChats } from "../chatlist.ts";
import { moment } from "../format.ts";
import { CopyButton, Dialog, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { ChatLink } from "../types.ts";

const s = strings.share;

export function ShareDialog() {
  const entry = useCell(app.sharing);
  const [link, setLink] = useState<ChatLink | null>(null);
  const [wrong, setWrong] = useState("");
  const id = entry?.id ?? "";
  const run = async (request: Promise<ChatLink>) => {
    try {
      setLink(await request);
      setWrong("");
    } catch (error) {
      setWrong(toApiError(error).message);
    }
  };
  useEffect(() => void run(api.chatLink(id)), [id]);
  if (!entry) return null;
  const change = (method: "PUT" | "DELETE") => run(api.changeLink(id, method)).then(() => loadChats()).catch(() => {}); // the list is updated later
  return (
    <Dialog title={s.title} onClose={() => (app.sharing.value = null)} class="confirm">
      <p dir="auto"><strong>{entry.title}</strong></p>
      <p>{s.text}</p>
      {!link && !wrong && <Spinner label={strings.working} />}
      <p class="bad" role="alert" dir="auto">{wrong}</p>
      {link && (link.link ? <Made link={link} change={change} /> : (
        <div class="dialog-actions">
          <button type="button" class="primary" onClick={() => void change("PUT")}><Icon name="link" />{s.make}</button>
        </div>
      ))}
    </Dialog>
  );
}

function Made({ link, change }: { link: ChatLink; change: (method: "PUT" | "DELETE") => Promise<void> }) {
  const address = `${location.origin}${location.pathname}${app.hrefOf({ name: "shared", id: link.link })}`;
  return (
    <>
      <p class="new-key"><input class="share-link" aria-label={s.link} value={address} readOnly dir="ltr" onFocus={(e) => e.currentTarget.select()} /><CopyButton text={address} label={s.copy} /></p>
      <p class="soft-note" role="status">{s.state(link.messages, moment(link.shared_at ?? ""))}{link.newer > 0 && ` ${s.newer(link.newer)}`}</p>
      <div class="dialog-actions">
        <button type="button" class="danger" onClick={() => void change("DELETE")}>{s.revoke}</button>
        {link.newer > 0 && <button type="button" onClick={() => void change("PUT")}>{s.renew}</button>}
      </div>
    </>
  );
}
