// The command palette: finds conversations and commands by their words.
import { useMemo, useRef, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { Dialog, Icon, SearchField, type IconName } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import { matching, useFound } from "./sidebar.tsx";

const s = strings.palette;
const maxChats = 30;

interface Command {
  id: string;
  icon: IconName;
  label: string;
  run: () => void;
}

const commands = (): Command[] => [
  ...(app.me.value?.role === "administrator" ? [{ id: "admin", icon: "chart" as const, label: strings.admin.title, run: () => app.go({ name: "admin" }) }] : []),
  { id: "new", icon: "plus", label: strings.chat.newChat, run: app.begin },
  { id: "folder", icon: "newFolder", label: strings.folders.add, run: () => (app.filing.value = "new") },
  { id: "documents", icon: "files", label: strings.sidebar.documents, run: () => app.go({ name: "documents", id: "" }) },
  ...(app.me.value && app.me.value.role !== "reader" ? [{ id: "evaluation", icon: "check" as const, label: strings.evaluation.title, run: () => app.go({ name: "evaluation" }) }] : []),
  { id: "settings", icon: "gear", label: strings.sidebar.settings, run: () => app.go({ name: "settings" }) },
  { id: "request", icon: "code", label: strings.request.title, run: () => (app.overlay.value = "request") },
  { id: "shortcuts", icon: "bulb", label: strings.shortcuts.title, run: () => (app.overlay.value = "shortcuts") },
  { id: "light", icon: "sun", label: s.light, run: () => (app.theme.value = "light") },
  { id: "dark", icon: "moon", label: s.dark, run: () => (app.theme.value = "dark") },
  { id: "auto", icon: "auto", label: s.auto, run: () => (app.theme.value = "") },
];

export function Palette() {
  const chats = useCell(app.chats) ?? [];
  const [q, setQ] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const everywhere = useFound(q);
  const found = useMemo(() => {
    const words = q.toLowerCase().trim();
    const some = commands().filter((c) => c.label.toLowerCase().includes(words));
    const listed = matching(chats, q);
    const others = (everywhere ?? []).filter((c) => !listed.some((l) => l.id === c.id));
    const talks = [...listed, ...others].slice(0, maxChats).map((c): Command => ({
      id: c.id, icon: "chat", label: c.title, run: () => app.go({ name: "chat", id: c.id }),
    }));
    return q ? [...talks, ...some] : [...some, ...talks];
  }, [chats, q, everywhere]);
  const close = () => (app.overlay.value = "");
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") { // by default, the browser would only clear the field
      event.preventDefault();
      event.stopPropagation();
      close();
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(found[at]);
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found.length === 0) return;
    event.preventDefault();
    const next = (at + step + found.length) % found.length;
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Dialog title={s.title} hideTitle onClose={close} class="palette">
      <SearchField label={s.search} value={q} onInput={(v) => { setQ(v); setAt(0); }} onKeyDown={keys}
        list={{ id: "palette-list", active: found[at] ? `palette-${at}` : undefined }} />
      <ul id="palette-list" role="listbox" aria-label={s.results} ref={list}>
        {found.map((c, i) => (
          <li key={c.id} id={`palette-${i}`} role="option" aria-selected={i === at} class={i === at ? "at" : ""} onMouseMove={() => setAt(i)} onClick={() => run(c)}>
            <Icon name={c.icon} />{c.label}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="none">{s.nothingFound(q)}</p>}
    </Dialog>
  );
}
