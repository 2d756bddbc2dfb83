// Rating an answer, with the reason for a bad rating.
import { useState } from "preact/hooks";
import * as app from "../app.ts";
import type { Message } from "../conversation.ts";
import { IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

const s = strings.feedback;

export function Thumbs({ message, asking, ask }: { message: Message; asking: boolean; ask: (open: boolean) => void }) {
  const given = message.answer!.feedback;
  const rate = (good: boolean) => {
    const same = given?.good === good;
    app.rate(message, same ? null : { good, reason: "" });
    ask(!good && !same);
  };
  return (
    <>
      <IconButton icon="thumbUp" label={s.good} pressed={given?.good === true} onClick={() => rate(true)} />
      <IconButton icon="thumbDown" label={s.bad} pressed={given?.good === false} expanded={asking} onClick={() => rate(false)} />
    </>
  );
}

/** Asks what was wrong. */
export function Reasons({ message, close }: { message: Message; close: () => void }) {
  const [text, setText] = useState("");
  const give = (reason: string) => {
    if (reason) app.rate(message, { good: false, reason });
    app.tell(s.thanks);
    close();
  };
  return (
    <form class="reasons" aria-label={s.why} onSubmit={(e) => { e.preventDefault(); give(text.trim()); }}>
      <p>{s.why}</p>
      <p class="actions">
        {s.reasons.map((r) => <button key={r} type="button" class="small" onClick={() => give(r)}>{r}</button>)}
      </p>
      <p class="actions">
        <input aria-label={s.other} placeholder={s.other} value={text} maxLength={500} dir="auto" onInput={(e) => setText(e.currentTarget.value)} />
        <button type="submit" disabled={!text.trim()}>{s.send}</button>
      </p>
    </form>
  );
}
