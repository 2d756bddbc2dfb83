// Where questions are written.
import { useEffect, useRef } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import type { Shown } from "../conversation.ts";
import { Icon, Menu, type MenuItem } from "../parts/controls.tsx";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import { Attachments, attach } from "./attachments.tsx";

const s = strings.chat;
const maxHeight = 220; // px

export function Composer({ path }: { path: Shown[] }) {
  const draft = useCell(app.draft);
  const editing = useCell(app.editing);
  const config = useCell(app.config);
  const online = useCell(app.online);
  const busy = useCell(app.busy);
  const reachable = useCell(app.reachable);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const limit = config?.limits.question || 32_768;
  const tooLong = new TextEncoder().encode(draft).length > limit;
  useEffect(() => fit(field.current), [draft]);

  const send = () => {
    if (!tooLong) void app.ask(draft);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (!busy) send();
    } else if (event.key === "ArrowUp" && draft === "" && !busy) {
      const last = path.findLast((p) => p.message.role === "user");
      if (!last) return;
      event.preventDefault();
      app.edit(last.message);
    } else if (event.key === "Escape" && editing) {
      event.stopPropagation();
      app.cancelEdit();
    }
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    attach(files);
  };
  const actions: MenuItem[] = [
    ...(config?.capabilities["uploads"] ? [{ icon: "upload" as const, label: strings.attachments.attach, run: () => picker.current?.click() }] : []),
    { icon: "code", label: strings.request.title, run: () => (app.overlay.value = "request") },
  ];
  return (
    <form class="composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {editing && (
        <p class="editing-note">
          <Icon name="edit" />
          {s.editing}
          <button type="button" class="quiet small" onClick={app.cancelEdit}>{strings.cancel}</button>
        </p>
      )}
      <Attachments />
      <div class="composer-box">
        <div class="composer-actions"><Menu label={strings.attachments.more} icon="plus" items={actions} /></div>
        <input ref={picker} type="file" multiple class="offscreen" tabIndex={-1} aria-label={strings.attachments.attach}
          onChange={(e) => {
            attach(e.currentTarget.files ?? []);
            e.currentTarget.value = "";
          }} />
        <label class="offscreen" for="question">{s.ask}</label>
        <textarea
          id="question" ref={field} rows={1} dir="auto" value={draft} placeholder={path.length > 0 ? s.askNext : s.ask} autocomplete="off"
          aria-invalid={tooLong} aria-describedby="composer-hint" enterkeyhint="send"
          onInput={(e) => (app.draft.value = e.currentTarget.value)} onKeyDown={keys} onPaste={paste}
        />
        <div class="composer-actions">
          {busy ? (
            <button type="button" class="send stop" aria-label={s.stop} title={s.stop} onClick={app.stop}><Icon name="stop" /></button>
          ) : (
            <button type="submit" class="send" aria-label={s.send} title={s.send} disabled={!draft.trim() || tooLong}><Icon name="send" /></button>
          )}
        </div>
      </div>
      <p id="composer-hint" class={`composer-hint ${tooLong ? "bad" : ""}`}>
        {tooLong ? s.tooLong(limit) : !online || !reachable ? strings.failures.offline.title : <Model />}
      </p>
    </form>
  );
}

function Model() {
  const config = useCell(app.config);
  const chosen = useCell(choices);
  if (!config) return <>{" "}</>;
  const model = chosen.models.inference || config.model;
  return (
    <>
      <a href="#/settings">{model}</a>
      <span>{s.answersFrom(chosen.namespace || config.namespace)}</span>
    </>
  );
}

/** Makes the field as high as its text. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, maxHeight)}px`;
}
