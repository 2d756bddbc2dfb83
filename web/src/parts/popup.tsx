import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, placeMenu, type IconName } from "./controls.tsx";

interface Props {
  label: string;
  icon: IconName;
  text: string; // on the button
  class?: string;
  onOpen?: () => void;
  children: (close: () => void) => ComponentChildren;
}

/** A button with a small window below or above it, in the top layer. Esc or a click elsewhere closes it. */
export function Popup({ label, icon, text, class: extra = "", onOpen, children }: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  useEffect(() => {
    const popover = box.current;
    if (!open || !popover || !root.current) return;
    onOpen?.();
    popover.showPopover();
    const place = () => root.current && placeMenu(popover, root.current, "start");
    place();
    const sized = new ResizeObserver(place); // its contents may load later
    sized.observe(popover);
    addEventListener("resize", place);
    popover.querySelector<HTMLElement>("input, button")?.focus();
    const closed = (event: Event) => (event as ToggleEvent).newState === "closed" && setOpen(false);
    popover.addEventListener("toggle", closed);
    return () => {
      sized.disconnect();
      removeEventListener("resize", place);
      popover.removeEventListener("toggle", closed);
    };
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <div class={`popup ${extra}`} ref={root} onKeyDown={keys}>
      <button type="button" class="quiet small popup-button" aria-label={`${label}: ${text}`} title={label} aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={icon} />
        <span class="popup-text" dir="auto">{text}</span>
      </button>
      {open && <div class="popup-box" role="dialog" aria-label={label} ref={box} popover="auto">{children(close)}</div>}
    </div>
  );
}
