// The menu of a collection: creating and emptying one, and its members, access and instructions.
import { useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { collectionOf, deleteAll, makeCollection, rights } from "../library.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Dialog, Menu, type MenuItem } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { collectionName, useCollection } from "./namespace.tsx";

const s = strings.library;

export function CollectionMenu() {
  const can = useCell(app.config)?.capabilities ?? {};
  const all = useCell(app.namespaces);
  const name = useCollection();
  const [open, setOpen] = useState<"" | "create" | "empty">("");
  const close = () => setOpen("");
  const { documents = 0, manage = false } = all.find((n) => n.name === name) ?? {};
  const items: MenuItem[] = [
    ...(can["uploads"] || can["web_sources"] ? [{ icon: "plus" as const, label: s.create, run: () => setOpen("create") }] : []),
    ...(manage ? [
      { icon: "account" as const, label: strings.rights.members, run: () => (rights.value = { kind: "members", namespace: name }) },
      { icon: "files" as const, label: strings.rights.folders, run: () => (rights.value = { kind: "folders", namespace: name }) },
    ] : []),
    ...(name ? [{ icon: "edit" as const, label: strings.rights.instructions, run: () => (rights.value = { kind: "instructions", namespace: name }) }] : []),
    ...(documents > 0 ? [{ icon: "trash" as const, label: s.empty, danger: true, run: () => setOpen("empty") }] : []),
  ];
  if (items.length === 0) return null;
  return (
    <>
      <Menu label={s.actions} items={items} />
      {open === "create" && <Create close={close} />}
      {open === "empty" && <Confirm title={s.emptyTitle(collectionName(name))} text={`${s.emptyText(documents)} ${s.comesBack}`} action={s.empty} close={close} run={() => deleteAll(collectionOf(name))} />}
    </>
  );
}

function Create({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState("");
  const create = (event: Event) => {
    event.preventDefault();
    if (makeCollection(name)) close();
    else setWrong(s.badName);
  };
  return (
    <Dialog title={s.create} onClose={close} class="confirm">
      <form onSubmit={create}>
        <p>{s.createText}</p>
        <label class="field">
          <span>{s.name}</span>
          <input type="text" value={name} maxLength={100} required dir="auto" autocomplete="off" aria-invalid={wrong !== ""} aria-describedby="collection-wrong" onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <p id="collection-wrong" class="bad" role="alert">{wrong}</p>
        <div class="dialog-actions">
          <button type="button" onClick={close}>{strings.cancel}</button>
          <button type="submit" class="primary" disabled={!name.trim()}>{s.createButton}</button>
        </div>
      </form>
    </Dialog>
  );
}
