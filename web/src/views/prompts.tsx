// Prompts that one keeps to use again, in this browser.
import { useState } from "preact/hooks";
import * as app from "../app.ts";
import { saved, useCell } from "../cell.ts";
import { Dialog, Icon, IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

const s = strings.prompts;

const name = "parley.prompts";
const most = 100;
const longest = 4000; // characters

const valid = (value: unknown): value is string[] => Array.isArray(value) && value.every((v) => typeof v === "string");
const all = saved<string[]>(name, [], valid);

/** Takes over what another tab has saved, so that neither loses the prompts of the other. */
addEventListener("storage", (event) => {
  if (event.key !== name) return;
  try {
    const stored: unknown = JSON.parse(event.newValue ?? "[]");
    if (valid(stored)) all.value = stored;
  } catch {
    // Somebody else has written there.
  }
});

export function Prompts() {
  const prompts = useCell(all);
  const [text, setText] = useState(app.draft.value.slice(0, longest));
  const clean = text.trim();
  const full = prompts.length >= most;
  const close = () => (app.overlay.value = "");
  const insert = (prompt: string) => {
    const before = app.draft.value.trimEnd();
    app.draft.value = before ? `${before}\n${prompt}` : prompt;
    close();
    app.focusComposer();
  };
  const save = (event: Event) => {
    event.preventDefault();
    all.value = [clean, ...prompts.filter((p) => p !== clean)];
    setText("");
  };
  return (
    <Dialog title={s.title} onClose={close} class="confirm rights prompts">
      <p>{s.text}</p>
      {prompts.length === 0 && <p class="soft-note">{s.none}</p>}
      <ul class="rules">
        {prompts.map((p) => (
          <li key={p}>
            <button type="button" class="prompt" dir="auto" title={p} onClick={() => insert(p)}>{p}</button>
            <IconButton icon="trash" label={s.remove(p)} onClick={() => (all.value = prompts.filter((other) => other !== p))} />
          </li>
        ))}
      </ul>
      <form onSubmit={save}>
        <label class="field"><span>{s.field}</span><textarea rows={3} value={text} maxLength={longest} dir="auto" onInput={(e) => setText(e.currentTarget.value)} /></label>
        {full && <p class="bad" role="alert">{s.full}</p>}
        <div class="dialog-actions"><button type="submit" class="primary" disabled={!clean || full}><Icon name="plus" />{s.save}</button></div>
      </form>
    </Dialog>
  );
}
