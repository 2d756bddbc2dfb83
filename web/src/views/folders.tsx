// The dialog for creating a folder and moving a conversation to one.
import { useState } from "preact/hooks";
import { ApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { addFolder, moveToFolder } from "../chatlist.ts";
import { Dialog, Icon } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

const s = strings.folders;

export function FolderDialog() {
  const filing = useCell(app.filing);
  const folders = useCell(app.folders);
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  const entry = filing === "new" ? null : filing;
  const close = () => (app.filing.value = null);
  const run = (change: Promise<unknown>) => change.then(close, (error) => setWrong(error instanceof ApiError && error.status === 409 ? s.full : s.failed));
  const create = (event: Event) => {
    event.preventDefault();
    void run(addFolder(name.trim()).then((made) => entry && moveToFolder(entry, made.id)));
  };
  return (
    <Dialog title={entry ? s.move : s.add} onClose={close} class="confirm rights prompts">
      {entry && <p dir="auto"><strong>{entry.title}</strong></p>}
      {entry && folders.length > 0 && (
        <ul class="rules">
          {[...folders, { id: "", name: s.none }].map((f) => {
            const here = f.id === (folders.some((o) => o.id === entry.folder) ? entry.folder : "");
            return (
              <li key={f.id}>
                <button type="button" class="prompt folder-choice" aria-pressed={here} onClick={() => void (here ? close() : run(moveToFolder(entry, f.id)))}>
                  <Icon name={here ? "check" : f.id ? "folder" : "close"} /><span dir="auto">{f.name}</span>
                </button>
              </li>
            );
          })}
        </ul>
      )}
      <form onSubmit={create}>
        <label class="field"><span>{entry && folders.length > 0 ? s.add : s.name}</span><input type="text" value={name} maxLength={100} dir="auto" autocomplete="off" autofocus={!entry} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <p class="bad" role="alert">{wrong}</p>
        <div class="dialog-actions"><button type="submit" class="primary" disabled={!name.trim()}><Icon name="plus" />{entry ? s.createAndMove : s.create}</button></div>
      </form>
    </Dialog>
  );
}
