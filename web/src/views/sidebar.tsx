// The sidebar: conversations in folders and by date, and links to the other views.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { changeFolders, closedFolders, loadOlderChats, olderChats, toggleFolder } from "../chatlist.ts";
import { jsonOf, markdownOf } from "../conversation.ts";
import { ago, count } from "../format.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Icon, IconButton, Menu, SearchField, type IconName } from "../parts/controls.tsx";
import { Mark } from "../parts/mark.tsx";
import { saveFile } from "../parts/savefile.ts";
import { strings } from "../strings.ts";
import type { ChatEntry, Folder, FoundChat } from "../types.ts";
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
  const me = useCell(app.me);
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
          {me && me.role !== "reader" && <Place icon="check" href="#/evaluation" label={strings.evaluation.title} current={view.name === "evaluation"} />}
          <Place icon="gear" href="#/settings" label={s.settings} current={view.name === "settings"} />
          {me?.role === "administrator" && <Place icon="chart" href="#/admin" label={strings.admin.title} current={view.name === "admin"} />}
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

const nearEnd = 1000; // px from the end of the list that count as scrolled to the end

function Chats() {
  const chats = useCell(app.chats);
  const older = useCell(olderChats);
  const folders = useCell(app.folders);
  const [q, setQ] = useState("");
  const [renaming, setRenaming] = useState("");
  const found = useFound(q);
  const shown = q.trim() ? (found ?? matching(chats ?? [], q)) : null;
  const line = (c: ChatEntry, snippet = "") => <Line key={c.id} entry={c} snippet={snippet} words={q} renaming={renaming === c.id} rename={(on) => setRenaming(on ? c.id : "")} />;
  const more = () => void loadOlderChats();
  const inFolder = (id: string | undefined) => (chats ?? []).filter((c) => c.folder === id);
  return (
    <div class="chats">
      <div class="chats-head">
        <SearchField label={s.search} value={q} onInput={setQ} />
        <IconButton icon="newFolder" label={strings.folders.add} onClick={() => (app.filing.value = "new")} />
      </div>
      <div class="chat-list" onScroll={(e) => !shown && isNearEnd(e.currentTarget) && more()}>
        {shown ? (
          <>
            <ul aria-label={s.chats}>{shown.map((c) => line(c, (c as Partial<FoundChat>).snippet))}</ul>
            {shown.length === 0 && <p class="none" role="status">{found ? s.nothingFound(q) : s.searching}</p>}
          </>
        ) : (
          <>
            {chats?.length === 0 && <p class="none">{s.noChats}</p>}
            {folders.map((f) => <FolderOfChats key={f.id} folder={f} entries={inFolder(f.id)} line={line} />)}
            {byDay((chats ?? []).filter((c) => !folders.some((f) => f.id === c.folder))).map(({ name, entries }) => (
              <section key={name} aria-label={s.days[name]}>
                <h2>{s.days[name]}</h2>
                <ul>{entries.map((c) => line(c))}</ul>
              </section>
            ))}
            {older && <button type="button" class="quiet older" onClick={more}>{strings.documents.more}</button>}
          </>
        )}
      </div>
    </div>
  );
}

const isNearEnd = (el: HTMLElement) => el.scrollHeight - el.scrollTop - el.clientHeight < nearEnd;

function FolderOfChats({ folder, entries, line }: { folder: Folder; entries: ChatEntry[]; line: (c: ChatEntry) => ComponentChildren }) {
  const t = strings.folders;
  const open = !useCell(closedFolders).includes(folder.id);
  const [at, setAt] = useState<"" | "renaming" | "deleting">("");
  const pinnedFirst = [...entries.filter((c) => c.pinned), ...entries.filter((c) => !c.pinned)];
  const rename = (name: string) => void changeFolders(api.folders.change({ id: folder.id, name }));
  return (
    <section aria-label={folder.name} class="folder">
      {at === "renaming" ? <Rename text={folder.name} label={t.name} longest={100} save={rename} done={() => setAt("")} /> : (
        <div class="folder-head">
          <h2>
            <button type="button" class="quiet" aria-expanded={open} onClick={() => toggleFolder(folder.id)}>
              <Icon name="folder" /><span class="chat-title" dir="auto">{folder.name}</span><span class="folder-count">{count(entries.length)}</span>
            </button>
          </h2>
          <Menu label={t.actions(folder.name)} items={[
            { icon: "edit", label: s.rename, run: () => setAt("renaming") },
            { icon: "trash", label: s.remove, danger: true, run: () => setAt("deleting") },
          ]} />
        </div>
      )}
      {open && (entries.length > 0 ? <ul>{pinnedFirst.map((c) => line(c))}</ul> : <p class="none">{t.empty}</p>)}
      {at === "deleting" && (
        <Confirm title={t.removeTitle(folder.name)} text={t.removeText} action={s.remove} close={() => setAt("")} run={() => changeFolders(api.folders.remove(folder.id))} />
      )}
    </section>
  );
}

const pause = 200; // ms without typing before a search is sent

/** Returns the conversations that contain a text; null until the server has answered. */
export function useFound(q: string): FoundChat[] | null {
  const [found, setFound] = useState<{ q: string; list: FoundChat[] } | null>(null);
  const text = q.trim();
  useEffect(() => {
    if (!text) return;
    const gone = new AbortController();
    const timer = setTimeout(() => {
      api.searchChats(text.slice(0, 60), gone.signal).then((list) => setFound({ q: text, list }), () => {}); // listed titles are searched without the server
    }, pause);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [text]);
  return found?.q === text ? found.list : null;
}

type Day = "pinned" | "today" | "yesterday" | "week" | "month" | "older";
const dayLength = 86_400_000; // ms

/** Groups conversations by age, with the pinned ones first. */
export function byDay(chats: ChatEntry[], now = Date.now()): { name: Day; entries: ChatEntry[] }[] {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const dayOf = (c: ChatEntry): Day => {
    if (c.pinned) return "pinned";
    const at = Date.parse(c.lastUpdated);
    if (at >= today) return "today";
    if (at >= today - dayLength) return "yesterday";
    return at >= today - 7 * dayLength ? "week" : at >= today - 30 * dayLength ? "month" : "older";
  };
  const days: Day[] = ["pinned", "today", "yesterday", "week", "month", "older"];
  const grouped = new Map<Day, ChatEntry[]>();
  for (const c of chats) {
    const day = dayOf(c);
    grouped.set(day, [...(grouped.get(day) ?? []), c]);
  }
  return days.flatMap((name) => (grouped.has(name) ? [{ name, entries: grouped.get(name)! }] : []));
}

interface LineProps {
  entry: ChatEntry;
  snippet: string;
  words: string; // the search, to mark in the snippet
  renaming: boolean;
  rename: (on: boolean) => void;
}

function Line({ entry: c, snippet, words, renaming, rename }: LineProps) {
  const view = useCell(app.view);
  const current = view.name === "chat" && view.id === c.id;
  const setTitle = (title: string) => void app.rename(c.id, title).catch(() => app.tell(s.notRenamed, true));
  if (renaming) return <li><Rename text={c.title} label={s.newTitle} longest={200} save={setTitle} done={() => rename(false)} /></li>;
  return (
    <li class={current ? "current" : ""}>
      <a href={app.hrefOf({ name: "chat", id: c.id })} aria-current={current ? "page" : undefined} title={`${c.title}\n${ago(c.lastUpdated)}`}>
        <span class="chat-title" dir="auto">{c.title}</span>
        {snippet && <span class="chat-snippet" dir="auto"><Words text={withoutLabels(snippet)} words={words} /></span>}
      </a>
      {c.shared && <span class="chat-shared" title={strings.share.isShared}><Icon name="link" /><span class="offscreen">{strings.share.isShared}</span></span>}
      <Menu label={s.actions(c.title)} items={[
        { icon: "pin", label: c.pinned ? s.unpin : s.pin, run: () => void app.pin(c, !c.pinned).catch(() => app.tell(s.notPinned, true)) },
        { icon: "folder", label: strings.folders.move, run: () => (app.filing.value = c) },
        { icon: "link", label: strings.share.menu, run: () => (app.sharing.value = c) },
        { icon: "edit", label: s.rename, run: () => rename(true) },
        { icon: "download", label: s.exportMarkdown, run: () => void save(c, "md") },
        { icon: "download", label: s.exportJSON, run: () => void save(c, "json") },
        { icon: "trash", label: s.remove, danger: true, run: () => app.remove(c) },
      ]} />
    </li>
  );
}

const withoutLabels = (text: string) => text.replace(/\[[^\]]*#page=\d+\]/g, "").replace(/[*_`#>|]+/g, "");

/** A text with the words of a search marked. */
function Words({ text, words }: { text: string; words: string }) {
  const all = words.trim().split(/\s+/).filter(Boolean).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pieces = all.length > 0 ? text.split(new RegExp(`(${all.join("|")})`, "giu")) : [text];
  return <>{pieces.map((p, i) => (i % 2 === 1 ? <mark key={i}>{p}</mark> : p))}</>;
}

export function matching(chats: ChatEntry[], q: string): ChatEntry[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return chats;
  return chats.filter((c) => {
    const text = `${c.title}\n${c.lastMessage ?? ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

interface RenameProps {
  text: string;
  label: string;
  longest: number; // characters
  save: (text: string) => void; // called only if the text has changed
  done: () => void;
}

function Rename({ text, label, longest, save, done }: RenameProps) {
  const [title, setTitle] = useState(text);
  const over = useRef(false); // removing the field fires blur, which must not submit again
  const submit = () => {
    if (over.current) return;
    over.current = true;
    done();
    if (title.trim() && title !== text) save(title);
  };
  return (
    <form class="rename" onSubmit={(e) => { e.preventDefault(); submit(); }}>
      <input aria-label={label} value={title} maxLength={longest} dir="auto" ref={(el) => el?.focus()} onInput={(e) => setTitle(e.currentTarget.value)}
        onBlur={submit} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); over.current = true; done(); } }} />
    </form>
  );
}

/** Exports a conversation as a file. */
async function save(entry: ChatEntry, as: "md" | "json"): Promise<void> {
  try {
    const c = await app.loadConversation(entry);
    const text = as === "md" ? markdownOf(c, { you: strings.chat.you, assistant: "Parley" }) : jsonOf(c);
    saveFile(`${fileName(entry.title)}.${as}`, as === "md" ? "text/markdown" : "application/json", text);
  } catch {
    app.tell(s.notExported, true);
  }
}

export const fileName = (title: string): string =>
  title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").replace(/\s+/g, " ").replace(/^[ .]+|[ .]+$/g, "").slice(0, 80) || "conversation";
