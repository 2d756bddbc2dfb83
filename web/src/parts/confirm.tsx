import { strings } from "../strings.ts";
import { Dialog } from "./controls.tsx";

interface Props {
  title: string;
  text: string;
  action: string;
  run: () => unknown;
  close: () => void;
}

/** A dialog that asks for confirmation before something is lost. */
export function Confirm({ title, text, action, run, close }: Props) {
  return (
    <Dialog title={title} onClose={close} class="confirm">
      <p dir="auto">{text}</p>
      <div class="dialog-actions">
        <button type="button" onClick={close}>{strings.cancel}</button>
        <button type="button" class="danger" onClick={() => { close(); void run(); }}>{action}</button>
      </div>
    </Dialog>
  );
}
