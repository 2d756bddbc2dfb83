// The page.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import * as app from "./app.ts";
import { useCell } from "./cell.ts";
import { watchSwipes } from "./gestures.ts";
import { Icon, IconButton } from "./parts/controls.tsx";
import { lazy } from "./parts/lazy.tsx";
import { rights } from "./library.ts";
import { strings } from "./strings.ts";
import { ChatView } from "./views/chat.tsx";
import { Palette } from "./views/palette.tsx";
import { SidePanel } from "./views/panel.tsx";
import { Connection } from "./views/problems.tsx";
import { Sidebar } from "./views/sidebar.tsx";
import { CitationTip } from "./views/tip.tsx";
import "./styles/page.css";

const AdminView = lazy(() => import("./views/admin.tsx").then((m) => m.AdminView));
const DocumentsView = lazy(() => import("./views/documents.tsx").then((m) => m.DocumentsView));
const RequestDialog = lazy(() => import("./views/request.tsx").then((m) => m.RequestDialog));
const SettingsView = lazy(() => import("./views/settings.tsx").then((m) => m.SettingsView));
const EvaluationView = lazy(() => import("./views/evaluation.tsx").then((m) => m.EvaluationView));
const SharedView = lazy(() => import("./views/shared.tsx").then((m) => m.SharedView));
const ShareDialog = lazy(() => import("./views/share.tsx").then((m) => m.ShareDialog));
const FolderDialog = lazy(() => import("./views/folders.tsx").then((m) => m.FolderDialog));
const Prompts = lazy(() => import("./views/prompts.tsx").then((m) => m.Prompts));
const RightsDialog = lazy(() => import("./views/rights.tsx").then((m) => m.RightsDialog));
const Shortcuts = lazy(() => import("./views/shortcuts.tsx").then((m) => m.Shortcuts));

function Page() {
  const view = useCell(app.view);
  const overlay = useCell(app.overlay);
  const panel = useCell(app.panel);
  const sharing = useCell(app.sharing);
  const filing = useCell(app.filing);
  const rightsShown = useCell(rights);
  const drawer = useCell(app.drawer); // while it is open, the rest of the page is inert
  useEffect(() => {
    document.addEventListener("keydown", keys);
    document.addEventListener("dragover", keepPage);
    document.addEventListener("drop", keepPage);
    return () => {
      document.removeEventListener("keydown", keys);
      document.removeEventListener("dragover", keepPage);
      document.removeEventListener("drop", keepPage);
    };
  }, []);
  const skip = (event: Event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  return (
    <div class={`shell ${panel ? "with-panel" : ""}`}>
      <a class="skip" href="#main" onClick={skip}>{strings.skip}</a>
      <Sidebar />
      <div class="main-column" inert={drawer}>
        <Connection />
        <TopBar />
        <main id="main" tabIndex={-1}>
          {view.name === "chat" && <ChatView />}
          {view.name === "documents" && <DocumentsView id={view.id} page={view.page} namespace={view.namespace} />}
          {view.name === "shared" && <SharedView key={view.id} />}
          {view.name === "settings" && <SettingsView />}
          {view.name === "evaluation" && <EvaluationView />}
          {view.name === "admin" && <AdminView />}
        </main>
      </div>
      <SidePanel />
      <CitationTip />
      {sharing && <ShareDialog />}
      {filing && <FolderDialog />}
      {rightsShown && <RightsDialog />}
      {overlay === "palette" && <Palette />}
      {overlay === "prompts" && <Prompts />}
      {overlay === "request" && <RequestDialog />}
      {overlay === "shortcuts" && <Shortcuts />}
      <Toast />
      <Announcer />
    </div>
  );
}

/** Keeps the browser from opening a file that is dropped outside a drop target, which would replace the page. */
function keepPage(event: DragEvent): void {
  if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
}

const titleOf = (view: "documents" | "settings" | "evaluation" | "admin" | "shared"): string =>
  view === "admin" || view === "evaluation" ? strings[view].title : view === "shared" ? strings.share.viewTitle : strings.sidebar[view];

/** The bar at the top of narrow screens: the menu, the title of the view, search and a new conversation. */
function TopBar() {
  const view = useCell(app.view);
  const conversation = useCell(app.conversation);
  const open = useCell(app.drawer);
  const title = view.name === "chat" ? conversation.title || strings.chat.newChat : titleOf(view.name);
  return (
    <header class="top-bar">
      <IconButton icon="menu" label={strings.sidebar.open} expanded={open} onClick={() => (app.drawer.value = true)} />
      <span class="top-title" dir="auto">{title}</span>
      <IconButton icon="search" label={strings.palette.title} onClick={() => (app.overlay.value = "palette")} />
      <IconButton icon="plus" label={strings.chat.newChat} onClick={app.begin} />
    </header>
  );
}

const inField = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

function keys(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    app.overlay.value = app.overlay.value === "palette" ? "" : "palette";
  } else if (event.key === "?" && !inField(event.target) && !event.ctrlKey && !event.metaKey && !app.overlay.value) {
    event.preventDefault();
    app.overlay.value = "shortcuts";
  } else if (event.key === "/" && !inField(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey && !app.overlay.value) {
    event.preventDefault();
    if (app.view.value.name === "chat") app.focusComposer();
    else document.querySelector<HTMLElement>("main input[type=search]")?.focus();
  } else if (event.key === "Escape" && !app.overlay.value) {
    escape();
  }
}

/** Esc closes the drawer, else the panel; if neither is open, it stops the answer. */
function escape(): void {
  if (app.drawer.value) app.drawer.value = false;
  else if (app.panel.value) app.closePanel();
  else if (app.view.value.name === "chat" && app.busy.value) app.stop();
}

const toastTime = 6000; // ms
const actionTime = 10_000; // ms, for a notice with an action

function Toast() {
  const toast = useCell(app.toast);
  useEffect(() => {
    if (!toast) return;
    const timer = setTimeout(() => (app.toast.value = null), toast.action ? actionTime : toastTime);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <div class="toast-place" role="status">
      {toast && (
        <p class={`toast ${toast.bad ? "bad" : ""}`} key={toast.n}>
          {toast.bad && <Icon name="warn" />}
          <span dir="auto">{toast.text}</span>
          {toast.action && (
            <button type="button" class="quiet small" onClick={() => { toast.action?.run(); app.toast.value = null; }}>{toast.action.label}</button>
          )}
          <IconButton icon="close" label={strings.dismiss} onClick={() => (app.toast.value = null)} />
        </p>
      )}
    </div>
  );
}

/** Announces to screen readers that an answer is in progress, and the answer once it is complete, not word by word. */
function Announcer() {
  const text = useCell(app.announcement);
  const [said, setSaid] = useState("");
  useEffect(() => setSaid(text), [text]);
  return <div class="offscreen" aria-live="polite" aria-atomic="true">{said}</div>;
}

function applyTheme(): void {
  if (app.theme.value) document.documentElement.dataset["theme"] = app.theme.value;
  else delete document.documentElement.dataset["theme"];
}

function showTitle(): void {
  const view = app.view.value;
  const title = view.name === "chat" ? app.conversation.value.title : titleOf(view.name);
  document.title = title ? `${title} – Parley` : "Parley";
}

app.view.watch(showTitle);
app.conversation.watch(showTitle);
showTitle();
app.theme.watch(applyTheme);
applyTheme();
app.start();
watchSwipes();
render(<Page />, document.getElementById("app")!);
