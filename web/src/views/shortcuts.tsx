// The list of keyboard shortcuts.
import * as app from "../app.ts";
import { Dialog } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

export function Shortcuts() {
  return (
    <Dialog title={strings.shortcuts.title} onClose={() => (app.overlay.value = "")} class="confirm">
      <dl class="shortcuts">
        {strings.shortcuts.rows.map(([keys, text]) => (
          <div key={keys}><dt>{keys.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{text}</dd></div>
        ))}
      </dl>
    </Dialog>
  );
}
