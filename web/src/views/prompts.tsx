// Saved prompts, which are kept on the server.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import * as app from "../app.ts";
import { toApiError } from "../calls.ts";
import { Dialog, Icon, IconButton, SearchField, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { Prompt } from "../types.ts";

const s = strings.prompts;

const longest = 4000; // characters
const manyPrompts = 8; // from this number on, there is a search field
const before = "parley.prompts"; // the localStorage key of earlier versions, which kept prompts in the browser

/** Returns the prompts that an earlier version kept in this browser, newest first. */
function inBrowser(): string[] {
  let old: unknown = null;
  try {
    old = JSON.parse(localStorage.getItem(before) ?? "null");
  } catch {
    // Storage is switched off, or holds something else.
  }
  return Array.isArray(old) ? old.filter((text): text is string => typeof text === "string" && text.trim() !== "") : [];
}

async function moveToServer(): Promise<void> {
  for (const text of inBrowser().reverse()) await api.prompts.add({ text: text.slice(0, longest) });
  localStorage.removeItem(before);
}

export function Prompts() {
  const [prompts, setPrompts] = useState<Prompt[] | null>(null);
  const [text, setText] = useState(app.draft.value.slice(0, longest));
  const [edited, setEdited] = useState("");
  const [q, setQ] = useState("");
  const [wrong, setWrong] = useState("");
  const clean = text.trim();
  const close = () => (app.overlay.value = "");
  const run = async (change: Promise<unknown>) => {
    let fault = "";
    const failed = (error: unknown) => { fault = toApiError(error).status === 409 ? s.full : s.failed; };
    await change.catch(failed);
    await api.prompts.list().then(setPrompts, failed); // also after an error: a full list must be shown to delete from it
    setWrong(fault);
    return !fault;
  };
  const ownOnly = !!app.me.value?.subject; // else everyone would see the moved prompts: do not move them unasked
  useEffect(() => void run(ownOnly && inBrowser().length > 0 ? moveToServer() : Promise.resolve()), []);
  const insert = (prompt: string) => {
    const question = app.draft.value.trimEnd();
    app.draft.value = question ? `${question}\n${prompt}` : prompt;
    close();
    app.focusComposer();
  };
  const save = async (event: Event) => {
    event.preventDefault();
    if (!(await run(edited ? api.prompts.change({ id: edited, text: clean }) : api.prompts.add({ text: clean })))) return;
    setText("");
    setEdited("");
  };
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = (prompts ?? []).filter((p) => words.every((w) => p.text.toLowerCase().includes(w)));
  return (
    <Dialog title={s.title} onClose={close} class="confirm rights prompts">
      <p>{ownOnly ? s.text : s.textForAll}</p>
      {!ownOnly && inBrowser().length > 0 && <p><button type="button" onClick={() => void run(moveToServer())}>{s.move}</button></p>}
      {!prompts && !wrong && <Spinner label={strings.working} />}
      {prompts?.length === 0 && <p class="soft-note">{s.none}</p>}
      {prompts && prompts.length >= manyPrompts && <SearchField label={s.search} value={q} onInput={setQ} />}
      <ul class="rules">
        {shown.map((p) => (
          <li key={p.id}>
            <button type="button" class="prompt" dir="auto" title={p.text} onClick={() => insert(p.text)}>{p.text}</button>
            <IconButton icon="edit" label={s.edit(p.text)} pressed={edited === p.id} onClick={() => { setEdited(p.id); setText(p.text); }} />
            <IconButton icon="trash" label={s.remove(p.text)} onClick={() => void run(api.prompts.remove(p.id))} />
          </li>
        ))}
      </ul>
      <form onSubmit={(e) => void save(e)}>
        <label class="field"><span>{edited ? s.edited : s.field}</span><textarea rows={3} value={text} maxLength={longest} dir="auto" onInput={(e) => setText(e.currentTarget.value)} /></label>
        <p class="bad" role="alert">{wrong}</p>
        <div class="dialog-actions">
          {edited && <button type="button" onClick={() => { setEdited(""); setText(""); }}>{strings.cancel}</button>}
          <button type="submit" class="primary" disabled={!clean}><Icon name={edited ? "check" : "plus"} />{edited ? s.change : s.save}</button>
        </div>
      </form>
    </Dialog>
  );
}
