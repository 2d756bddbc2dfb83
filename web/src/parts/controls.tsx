// Small controls shared by all views.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { strings } from "../strings.ts";

const shapes = {
  plus: "M12 5v14M5 12h14",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  copy: "M9 9h10v11H9zM5 15V4h10",
  check: "M5 12.5l4.5 4.5L19 7",
  retry: "M5 12a7 7 0 1 0 2.3-5.2M5 4v4h4",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  up: "M6 14l6-6 6 6",
  open: "M14 5h5v5M19 5l-8 8M18 14v5H5V6h5",
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  files: "M6 3h8l4 4v14H6zM14 3v4h4",
  folder: "M3 6h6l2 3h10v10H3z",
  newFolder: "M3 6h6l2 3h10v10H3zM12 11v6M9 14h6",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0",
  gear: "M4 7h9M17 7h3M4 17h3M11 17h9M13 4.5v5M7 14.5v5",
  chart: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  bulb: "M9 18h6M10 21h4M8.5 15a6 6 0 1 1 7 0c-.6.6-1 1.2-1 2h-5c0-.8-.4-1.4-1-2z",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  thumbUp: "M7 11v9H4v-9zM7 11l4-7a2 2 0 0 1 2 2v4h5a2 2 0 0 1 2 2.3l-1 6a2 2 0 0 1-2 1.7H7",
  thumbDown: "M17 13V4h3v9zM17 13l-4 7a2 2 0 0 1-2-2v-4H6a2 2 0 0 1-2-2.3l1-6A2 2 0 0 1 7 4h10",
  warn: "M12 4l9 16H3zM12 10v4M12 17h.01",
  upload: "M12 16V5M7 9l5-5 5 5M5 20h14",
  mic: "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4M9 21h6",
  minus: "M5 12h14",
  down: "M6 10l6 6 6-6",
  fit: "M8 4H4v4M16 4h4v4M8 20H4v-4M16 20h4v-4",
  sound: "M4 9v6h4l5 4V5L8 9zM16.5 8.5a5 5 0 0 1 0 7M19 6a8.5 8.5 0 0 1 0 12",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick?: (event: MouseEvent) => void;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  class?: string;
}

/** A button with only an icon; `label` is its accessible name and its tooltip. */
export function IconButton({ icon, label, onClick, disabled, pressed, expanded, class: extra = "" }: IconButtonProps) {
  return (
    <button
      type="button" class={`icon-button ${extra}`} aria-label={label} title={label} disabled={disabled}
      aria-pressed={pressed} aria-expanded={expanded} onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

export function CopyButton({ text, label, small, words, icon = "copy" }: { text: string; label: string; small?: boolean; words?: string; icon?: IconName }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1600);
    return () => clearTimeout(timer);
  }, [done]);
  const name = done ? strings.copied : label;
  return (
    <button type="button" class={`quiet ${small ? "small" : ""} ${words ? "" : "icon-button"}`} aria-label={name} title={name} onClick={() => void copy(text).then(setDone)}>
      <Icon name={done ? "check" : icon} />
      {words && <span>{done ? strings.copied : words}</span>}
    </button>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Copies by way of a selection: pages without TLS, other than on localhost, have no Clipboard API. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

interface DialogProps {
  title: string;
  onClose: () => void;
  class?: string;
  hideTitle?: boolean;
  children: ComponentChildren;
}

/** A modal dialog. The browser keeps the focus in it and closes it on Esc; the focus then returns to where it was. */
export function Dialog({ title, onClose, class: extra = "", hideTitle, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const outside = (event: MouseEvent) => event.target === dialog.current && onClose();
  return (
    <dialog ref={dialog} class={`dialog ${extra}`} aria-label={title} onClose={onClose} onCancel={onClose} onMouseDown={outside}>
      <div class="dialog-body">
        {!hideTitle && (
          <header class="dialog-head">
            <h2>{title}</h2>
            <IconButton icon="close" label={strings.close} onClick={onClose} />
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

export interface MenuItem {
  icon: IconName;
  label: string;
  danger?: boolean;
  run: () => void;
}

/** A button with a menu. The menu is in the top layer, so that nothing clips it, and is aligned with the button at `edge`. */
export function Menu({ label, items, icon = "more", edge = "end" }: { label: string; items: MenuItem[]; icon?: IconName; edge?: "start" | "end" }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const popover = list.current;
    if (!open || !popover || !root.current) return;
    popover.showPopover();
    placeMenu(popover, root.current, edge);
    popover.querySelector<HTMLElement>("button")?.focus();
    const closed = (event: Event) => (event as ToggleEvent).newState === "closed" && setOpen(false);
    const scrolled = (event: Event) => (event.target as Node).contains(root.current) && setOpen(false);
    popover.addEventListener("toggle", closed);
    addEventListener("scroll", scrolled, { capture: true, passive: true });
    return () => {
      popover.removeEventListener("toggle", closed);
      removeEventListener("scroll", scrolled, { capture: true });
    };
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
      root.current?.querySelector<HTMLElement>("button")?.focus();
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!open || step === 0) return;
    event.preventDefault();
    moveFocus(list.current, step);
  };
  return (
    <div class="menu" ref={root} onKeyDown={keys}>
      <button type="button" class="icon-button" aria-label={label} title={label} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={icon} />
      </button>
      {open && (
        <div class="menu-list" role="menu" aria-label={label} ref={list} popover="auto">
          {items.map((item) => (
            <button
              key={item.label} type="button" role="menuitem" tabIndex={-1} class={item.danger ? "danger" : undefined}
              onClick={() => {
                setOpen(false);
                item.run();
              }}
            >
              <Icon name={item.icon} />
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const menuGap = 4; // px

/** Positions a menu below its button, or above it if there is no room below, within the window. */
export function placeMenu(menu: HTMLElement, button: HTMLElement, edge: "start" | "end" = "end"): void {
  const at = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + menuGap;
  const top = below + height <= innerHeight ? below : Math.max(menuGap, at.top - menuGap - height);
  const rtl = getComputedStyle(button).direction === "rtl";
  const left = rtl === (edge === "end") ? at.left : at.right - width;
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(menuGap, Math.min(left, innerWidth - width - menuGap))}px`;
}

/** Moves the focus among the buttons of a list by `step`, wrapping around. */
export function moveFocus(list: Element | null, step: number): void {
  const all = [...(list?.querySelectorAll<HTMLElement>("button") ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + step + all.length) % all.length]?.focus();
}

interface SearchFieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  focus?: boolean; // focus it when it is first shown
  list?: { id: string; active?: string }; // the list of options below it, and the id of the option that Enter selects
}

/** The ARIA attributes of a combobox whose list is always open. */
const combobox = (list: SearchFieldProps["list"]): object =>
  list ? { role: "combobox", "aria-expanded": "true", "aria-controls": list.id, "aria-activedescendant": list.active } : {};

/** A search field; `label` is both its placeholder and its accessible name. */
export function SearchField({ label, value, onInput, onKeyDown, list, focus }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  return (
    <label class="search-field">
      <Icon name="search" />
      <span class="offscreen">{label}</span>
      <input type="search" placeholder={label} value={value} autocomplete="off" spellcheck={false} {...combobox(list)} ref={field}
        onInput={(e) => onInput(e.currentTarget.value)} onKeyDown={onKeyDown} />
    </label>
  );
}

/** What a view shows when it is empty or could not be loaded. */
export function EmptyState({ icon, title, children, actions }: { icon: IconName; title: string; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children && <div class="empty-text">{children}</div>}
      {actions && <div class="empty-actions">{actions}</div>}
    </div>
  );
}

export function Spinner({ label }: { label: string }) {
  return (
    <span class="spinner" role="status">
      <span class="dots" aria-hidden="true"><i /><i /><i /></span>
      <span class="offscreen">{label}</span>
    </span>
  );
}
