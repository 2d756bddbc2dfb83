// The list of conversations, and the way to the other views.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { jsonOf, markdownOf } from "../conversation.ts";
import { ago } from "../format.ts";
import { Icon, IconButton, Menu, SearchField, type IconName } from "../parts/controls.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Mark } from "../parts/mark.tsx";
import { strings } from "../strings.ts";
import type { ChatEntry } from "../types.ts";
import { Account } from "./account.tsx";

const s = strings.sidebar;

export function Sidebar() {
  const open = useCell(app.drawer);
  const root = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>(".drawer-close")?.focus();
    return () => requestAnimationFrame(() => document.querySelector<HTMLElement>(".top-bar button")?.focus());
  }, [open]);
  const view = useCell(app.view);
  return (
    <>
      {open && <div class="scrim" onClick={() => (app.drawer.value = false)} />}
      <nav ref={root} class={`sidebar ${open ? "open" : ""}`} aria-label={s.label} id="sidebar">
        <div class="sidebar-head">
          <a class="brand" href="#/chat" onClick={app.begin}><Mark /><span>Parley</span></a>
          <IconButton icon="close" label={s.close} class="drawer-close" onClick={() => (app.drawer.value = false)} />
        </div>
        <button type="button" class="new-chat" onClick={app.begin}><Icon name="plus" />{strings.chat.newChat}</button>
        <Chats />
        <ul class="places">
          <Place icon="files" href="#/documents" label={s.documents} current={view.name === "documents"} />
          <Place icon="gear" href="#/settings" label={s.settings} current={view.name === "settings"} />
          <Account />
          <li class="theme-place"><ThemeSwitch /></li>
        </ul>
      </nav>
    </>
  );
}

function Place({ icon, href, label, current }: { icon: IconName; href: string; label: string; current: boolean }) {
  return (
    <li><a href={href} aria-current={current ? "page" : undefined}><Icon name={icon} />{label}</a></li>
  );
}

const themes = ["", "light", "dark"] as const;
const themeIcons = { "": "auto", light: "sun", dark: "moon" } as const;

function ThemeSwitch() {
  const theme = useCell(app.theme);
  return (
    <div class="segmented" role="group" aria-label={s.theme}>
      {themes.map((t) => (
        <IconButton key={t} icon={themeIcons[t]} label={s.themes[t]} pressed={theme === t} onClick={() => (app.theme.value = t)} />
      ))}
    </div>
  );
}

function Chats() {
  const chats = useCell(app.chats);
  const view = useCell(app.view);
  const [q, setQ] = useState("");
  const [renaming, setRenaming] = useState("");
  const [removing, setRemoving] = useState<ChatEntry | null>(null);
  const found = useMemo(() => matching(chats ?? [], q), [chats, q]);
  return (
    <div class="chats">
      <SearchField label={s.search} value={q} onInput={setQ} />
      {chats !== null && found.length === 0 && <p class="none">{q ? s.nothingFound(q) : s.noChats}</p>}
      <ul aria-label={s.chats}>
        {found.map((c) => (
          <li key={c.id} class={view.name === "chat" && view.id === c.id ? "current" : ""}>
            {renaming === c.id ? (
              <Rename entry={c} done={() => setRenaming("")} />
            ) : (
              <>
                <a href={app.hrefOf({ name: "chat", id: c.id })} aria-current={view.name === "chat" && view.id === c.id ? "page" : undefined} title={c.title}>
                  <span class="chat-title" dir="auto">{c.title}</span>
                  <small>{ago(c.lastUpdated)}</small>
                </a>
                <Menu label={s.actions(c.title)} items={[
                  { icon: "edit", label: s.rename, run: () => setRenaming(c.id) },
                  { icon: "download", label: s.exportMarkdown, run: () => void save(c, "md") },
                  { icon: "download", label: s.exportJSON, run: () => void save(c, "json") },
                  { icon: "trash", label: s.remove, danger: true, run: () => setRemoving(c) },
                ]} />
              </>
            )}
          </li>
        ))}
      </ul>
      {removing && <Confirm title={s.removeTitle} text={s.removeText(removing.title)} action={s.remove}
        run={() => app.remove(removing.id).catch(() => app.tell(s.notRemoved, true))} close={() => setRemoving(null)} />}
    </div>
  );
}

export function matching(chats: ChatEntry[], q: string): ChatEntry[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return chats;
  return chats.filter((c) => {
    const text = `${c.title}\n${c.lastMessage ?? ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

function Rename({ entry, done }: { entry: ChatEntry; done: () => void }) {
  const [title, setTitle] = useState(entry.title);
  const submit = () => {
    done();
    if (title !== entry.title) app.rename(entry.id, title).catch(() => app.tell(s.notRenamed, true));
  };
  return (
    <form class="rename" onSubmit={(e) => { e.preventDefault(); submit(); }}>
      <input aria-label={s.newTitle} value={title} maxLength={200} ref={(el) => el?.focus()} onInput={(e) => setTitle(e.currentTarget.value)}
        onBlur={submit} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); done(); } }} />
    </form>
  );
}

/** Saves a conversation as a file. */
async function save(entry: ChatEntry, as: "md" | "json"): Promise<void> {
  try {
    const c = await app.loadConversation(entry);
    const text = as === "md" ? markdownOf(c, { you: strings.chat.you, assistant: "Parley" }) : jsonOf(c);
    const url = URL.createObjectURL(new Blob([text], { type: as === "md" ? "text/markdown" : "application/json" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${fileName(entry.title)}.${as}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch {
    app.tell(s.notExported, true);
  }
}

export const fileName = (title: string): string =>
  title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").replace(/\s+/g, " ").replace(/^[ .]+|[ .]+$/g, "").slice(0, 80) || "conversation";
