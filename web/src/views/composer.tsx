// The composer: the field for questions, with the choice of documents and model.
import { useEffect, useRef, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import type { Shown } from "../conversation.ts";
import { Icon, IconButton, Menu, type MenuItem } from "../parts/controls.tsx";
import { addToScope } from "../scope.ts";
import { choices } from "../settings.ts";
import { strings } from "../strings.ts";
import type { DocumentRecord } from "../types.ts";
import { Attachments, attach } from "./attachments.tsx";
import { Dictation } from "./dictation.tsx";
import { ModelButton } from "./modelpicker.tsx";
import { ScopeButton, ScopeChips, nameIn, useDocuments, withoutName } from "./scope.tsx";

const s = strings.chat;
const maxHeight = 220; // px, as in the style sheet
const mostNamed = 6; // documents that are offered after a #

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
  const names = useNames(draft);
  useEffect(() => fit(field.current), [draft]);

  const send = () => {
    if (!tooLong) void app.ask(app.draft.value); // may be newer than the rendered draft
  };
  const keys = (event: KeyboardEvent) => {
    if (event.isComposing || names.keys(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
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
    ...(config?.capabilities["uploads"] ? [
      { icon: "upload" as const, label: strings.attachments.attach, run: () => picker.current?.click() },
      { icon: "link" as const, label: strings.start.webPage, run: () => app.go({ name: "documents", id: "" }) },
    ] : []),
    { icon: "bulb", label: strings.prompts.title, run: () => (app.overlay.value = "prompts") },
    { icon: "code", label: strings.request.title, run: () => (app.overlay.value = "request") },
  ];
  const problem = tooLong ? s.tooLong(limit) : !online || !reachable ? strings.failures.offline.title : "";
  return (
    <form class="composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {editing && (
        <p class="editing-note">
          <Icon name="edit" />
          {s.editing}
          <button type="button" class="quiet small" onClick={app.cancelEdit}>{strings.cancel}</button>
        </p>
      )}
      <Queued />
      <Attachments />
      <div class="composer-box">
        <ScopeChips />
        {names.list}
        <label class="offscreen" for="question">{s.ask}</label>
        <textarea
          id="question" ref={field} rows={1} dir="auto" value={draft} placeholder={path.length > 0 ? s.askNext : s.ask} autocomplete="off"
          aria-invalid={tooLong} aria-describedby="composer-hint" enterkeyhint="send" {...names.attributes}
          onInput={(e) => (app.draft.value = e.currentTarget.value)} onKeyDown={keys} onPaste={paste}
        />
        <div class="composer-bar">
          <Menu label={strings.attachments.more} icon="plus" edge="start" items={actions} />
          <input ref={picker} type="file" multiple class="offscreen" tabIndex={-1} aria-label={strings.attachments.attach}
            onChange={(e) => {
              attach(e.currentTarget.files ?? []);
              e.currentTarget.value = "";
            }} />
          <ScopeButton />
          <ModelButton />
          <span class="spacer" />
          <Dictation />
          {busy && !draft.trim() ? (
            <button type="button" class="send stop" aria-label={s.stop} title={s.stop} onClick={app.stop}><Icon name="stop" /></button>
          ) : (
            <button type="submit" class="send" aria-label={busy ? s.sendNext : s.send} title={busy ? s.sendNext : s.send} disabled={!draft.trim() || tooLong}><Icon name="send" /></button>
          )}
        </div>
      </div>
      <p id="composer-hint" class={`composer-hint ${tooLong ? "bad" : ""}`}>{problem || s.mayErr}</p>
    </form>
  );
}

/** The queued question, which is asked when the answer in progress is over. */
function Queued() {
  const queued = useCell(app.queued);
  if (!queued) return null;
  return (
    <p class="queued" role="status">
      <Icon name="send" />
      <span><b>{s.next}</b> <span dir="auto">{queued}</span></span>
      <IconButton icon="edit" label={s.editNext} onClick={app.takeQueued} />
      <IconButton icon="close" label={s.dropNext} onClick={() => (app.queued.value = "")} />
    </p>
  );
}

/** Returns the list of documents that match the text after a #, its key handler, and the field's ARIA attributes. */
function useNames(draft: string) {
  const chosen = useCell(choices);
  const [left, setLeft] = useState(""); // the draft for which the user closed the list
  const [marked, setMarked] = useState(""); // the id of the highlighted document; the first one if it is not in the list
  const name = draft === left ? null : nameIn(draft);
  const found = useDocuments(chosen.namespace, name ?? "", name !== null)?.slice(0, mostNamed) ?? [];
  const at = Math.max(0, found.findIndex((d) => d.id === marked));
  useEffect(() => setMarked(""), [name]);
  const take = (d: DocumentRecord) => {
    addToScope({ id: d.id, title: d.title || d.name });
    app.draft.value = withoutName(draft);
    app.focusComposer();
  };
  const keys = (event: KeyboardEvent): boolean => {
    if (found.length === 0 || name === null) return false;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setMarked(found[(at + step + found.length) % found.length]!.id);
    else if (event.key === "Enter" || event.key === "Tab") take(found[at]!);
    else if (event.key === "Escape") setLeft(draft);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const open = found.length > 0 && name !== null;
  const list = open && (
    <ul class="names" id="names" role="listbox" aria-label={strings.scope.documents}>
      {found.map((d, i) => (
        <li key={d.id} id={`name-${i}`} role="option" aria-selected={i === at} class={i === at ? "at" : ""} onMouseMove={() => setMarked(d.id)} onMouseDown={(e) => { e.preventDefault(); take(d); }}>
          <Icon name="files" /><span dir="auto">{d.title || d.name}</span>
        </li>
      ))}
    </ul>
  );
  const attributes = open ? { "aria-controls": "names", "aria-activedescendant": `name-${at}`, "aria-autocomplete": "list" as const } : {};
  return { list, keys, attributes };
}

const fitsItself = CSS.supports("field-sizing", "content");

/** Makes the field as high as its text, in browsers without field-sizing. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field || fitsItself) return;
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, maxHeight)}px`;
}
