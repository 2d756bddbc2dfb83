// The script that other web sites load: one script tag adds a chat to a page; sites that place it themselves use
// <parley-chat>. The chat runs in a frame of the server's origin, so neither side can read the other.
//
// The script has no dependencies, and loads no part of the chat until it is opened. It stores nothing in the browser.
import type { Language } from "../lang.ts";
import { inkOn, isColor } from "./color.ts";

const script = (document.currentScript ?? document.querySelector('script[src$="/embed.js"]')) as HTMLScriptElement | null;
const server = new URL(script?.src ?? location.href).origin;

/** The texts outside the frame. */
const labels: Record<Language, { open: string; close: string; chat: string }> = {
  en: { open: "Ask a question", close: "Close the chat", chat: "Chat" },
  de: { open: "Eine Frage stellen", close: "Chat schließen", chat: "Chat" },
  fr: { open: "Poser une question", close: "Fermer la discussion", chat: "Discussion" },
  es: { open: "Hacer una pregunta", close: "Cerrar el chat", chat: "Chat" },
  zh: { open: "提问", close: "关闭聊天", chat: "聊天" },
  ar: { open: "اطرح سؤالًا", close: "إغلاق المحادثة", chat: "محادثة" },
};

const known = (tag: string): Language | "" => {
  const name = tag.toLowerCase().split("-")[0]!;
  return Object.hasOwn(labels, name) ? (name as Language) : "";
};

/** Returns the language of the chat: the requested one, that of the page, or the first one of the browser that exists; else English. */
const languageOf = (asked: string | null): Language =>
  [asked ?? "", document.documentElement.lang, ...navigator.languages].map(known).find(Boolean) || "en";

/** The chat's options: attributes of <parley-chat>, and of the script tag with the prefix data-. */
const options = ["collection", "theme", "color", "lang", "title", "greeting"] as const;

function addressOf(get: (name: string) => string | null): string {
  const query = new URLSearchParams();
  for (const name of options) {
    const value = name === "lang" ? languageOf(get(name)) : get(name);
    if (value) query.set(name, value);
  }
  return `${server}/embed?${query}`;
}

/** Checks whether this page may show the chat. Returns the reason why not, for the console; null if it may. */
async function refusal(address: string): Promise<string | null> {
  let response: Response;
  try {
    response = await fetch(address, { credentials: "omit" });
  } catch {
    return `${server} doesn't let pages of ${location.origin} show its chat, or can't be reached. ` +
      `To allow it, add ${location.origin} to the setting embed.origins of the server` +
      ` (and ${server} to connect-src and frame-src, if this page has a Content-Security-Policy).`;
  }
  if (response.ok) return null;
  if (response.status === 401 || response.status === 403) {
    return `${server} lets nobody ask without signing in, so visitors of this page can't. To allow it, set auth.anonymous of the server to true.`;
  }
  return `${server} answered with status ${response.status}.`;
}

/** Attaches a shadow root with a constructed style sheet, which no Content-Security-Policy of the page forbids. */
function styled(host: HTMLElement, css: string): ShadowRoot {
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  return root;
}

/** <parley-chat>: the chat, as large as its element. It fires the events parley-ready, parley-close and parley-error. */
class ParleyChat extends HTMLElement {
  private frame: HTMLIFrameElement | null = null;
  private waiting: object[] = []; // messages to the chat, held back until it is ready

  connectedCallback(): void {
    addEventListener("message", this.listen);
    if (!this.frame) void this.show();
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.listen);
    this.frame?.remove();
    this.frame = null;
    this.ready = false;
  }

  /** Asks a question as if the visitor had typed it. */
  ask(question: string): void {
    this.post({ type: "parley:ask", text: String(question) });
  }

  /** Puts the cursor into the field for questions. */
  override focus(): void {
    this.frame?.focus();
    this.post({ type: "parley:focus" });
  }

  private ready = false;

  private async show(): Promise<void> {
    const address = addressOf((name) => this.getAttribute(name));
    const closable = this.hasAttribute("closable") ? "&closable=1" : "";
    const reason = this.hasAttribute("checked") ? null : await refusal(address);
    if (reason) {
      console.error(`Parley: ${reason}`);
      this.dispatchEvent(new CustomEvent("parley-error", { detail: reason }));
      return;
    }
    if (!this.isConnected || this.frame) return;
    const root = this.shadowRoot ?? styled(this, `
      :host { display: block; width: 100%; height: 100%; min-height: 320px; }
      :host([hidden]) { display: none; }
      iframe { display: block; width: 100%; height: 100%; border: 0; border-radius: inherit; color-scheme: normal; }`);
    this.frame = document.createElement("iframe");
    this.frame.title = this.getAttribute("title") || labels[languageOf(this.getAttribute("lang"))].chat;
    this.frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads");
    this.frame.allow = "clipboard-write";
    this.frame.src = address + closable;
    root.append(this.frame);
  }

  private listen = (event: MessageEvent): void => {
    if (event.source !== this.frame?.contentWindow || event.origin !== server) return;
    const { type } = (event.data ?? {}) as { type?: unknown };
    if (type !== "parley:ready" && type !== "parley:close") return;
    if (type === "parley:ready") {
      this.ready = true;
      this.waiting.splice(0).forEach((message) => this.post(message));
    }
    this.dispatchEvent(new CustomEvent(type.replace(":", "-")));
  };

  private post(message: object): void {
    if (this.ready) this.frame?.contentWindow?.postMessage(message, server);
    else this.waiting.push(message);
  }
}

const launcherStyle = `
  :host { all: initial; }
  button { position: fixed; inset-inline-end: 20px; bottom: 20px; z-index: 2147483000; width: 56px; height: 56px; padding: 0; border: 0;
    border-radius: 50%; background: var(--ground, #0f5c52); color: var(--ink, #fff); box-shadow: 0 4px 16px rgb(0 0 0 / 28%); cursor: pointer; }
  button:hover { filter: brightness(1.08); }
  button:focus-visible { outline: 3px solid var(--ground, #0f5c52); outline-offset: 3px; }
  svg { width: 26px; height: 26px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; vertical-align: middle; }
  parley-chat { position: fixed; inset-inline-end: 20px; bottom: 88px; z-index: 2147483000; width: min(400px, calc(100vw - 40px));
    height: min(640px, calc(100vh - 108px)); min-height: 0; border-radius: 14px; overflow: hidden; box-shadow: 0 12px 48px rgb(0 0 0 / 32%); }
  @media (max-width: 480px) {
    parley-chat { inset: 0; width: 100%; height: 100dvh; border-radius: 0; }
    .open { display: none; }
  }`;

const shapes = { chat: "M4 5h16v11H10l-5 4v-4H4z", close: "M6 6l12 12M18 6L6 18" };

function icon(): { svg: SVGElement; draw: (shape: keyof typeof shapes) => void } {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return { svg, draw: (shape) => path.setAttribute("d", shapes[shape]) };
}

/** Adds a round button in the corner that opens the chat. The chat is created when it is first opened. */
async function launch(tag: HTMLScriptElement): Promise<void> {
  const get = (name: string) => tag.getAttribute(`data-${name}`);
  const reason = await refusal(addressOf(get));
  if (reason) return console.error(`Parley: ${reason}`);
  const words = labels[languageOf(get("lang"))];
  const host = document.createElement("div");
  const root = styled(host, launcherStyle);
  const color = get("color");
  if (isColor(color)) {
    host.style.setProperty("--ground", color);
    host.style.setProperty("--ink", inkOn(color));
  }
  const button = document.createElement("button");
  const { svg, draw } = icon();
  button.type = "button";
  button.append(svg);
  let chat: ParleyChat | null = null;
  const toggle = (open: boolean): void => {
    if (open && !chat) {
      chat = document.createElement("parley-chat") as ParleyChat;
      for (const name of options) if (get(name) !== null) chat.setAttribute(name, get(name)!);
      chat.setAttribute("checked", "");
      chat.setAttribute("closable", "");
      chat.addEventListener("parley-close", () => toggle(false));
      root.prepend(chat);
    }
    if (chat) chat.hidden = !open;
    draw(open ? "close" : "chat");
    button.className = open ? "open" : "";
    button.title = open ? words.close : words.open;
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-expanded", String(open));
    if (open) chat?.focus();
    else if (chat) button.focus();
  };
  button.addEventListener("click", () => toggle(button.className !== "open"));
  toggle(false);
  root.append(button);
  document.body.append(host);
}

/** Adds the button, unless the script tag has data-launcher="none": then the site places <parley-chat> itself. */
function start(): void {
  if (script && script.getAttribute("data-launcher") !== "none") void launch(script);
}

if (!customElements.get("parley-chat")) {
  customElements.define("parley-chat", ParleyChat);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
}
