// A shared conversation, read-only. The reader sees only what their own access rights allow.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";
import { toApiError, type ApiError } from "../calls.ts";
import * as app from "../app.ts";
import { useCell } from "../cell.ts";
import { citedText, restored, type Message } from "../conversation.ts";
import { moment } from "../format.ts";
import { CopyButton, EmptyState, Icon, Spinner } from "../parts/controls.tsx";
import { strings } from "../strings.ts";
import type { SharedChat } from "../types.ts";
import { AnswerText, Sources } from "./answer.tsx";

const s = strings.share;

export function SharedView() {
  const view = useCell(app.view);
  const link = view.name === "shared" ? view.id : "";
  const [state, setState] = useState<{ link: string; chat?: SharedChat; error?: ApiError } | null>(null);
  useEffect(() => {
    let left = false;
    api.shared(link).then((chat) => left || setState({ link, chat }), (error) => left || setState({ link, error: toApiError(error) }));
    return () => void (left = true);
  }, [link]);
  if (state?.link !== link) return <Spinner label={strings.working} />;
  if (state.chat) return <Chat chat={state.chat} />;
  const missing = state.error?.kind === "missing";
  return (
    <div class="view centered">
      <h1 class="offscreen">{s.viewTitle}</h1>
      {missing ? <EmptyState icon="link" title={s.missing}>{s.missingText}</EmptyState> : <EmptyState icon="warn" title={state.error?.message ?? ""} />}
    </div>
  );
}

function Chat({ chat }: { chat: SharedChat }) {
  const messages = restored(chat.messages);
  return (
    <div class="chat">
      <div class="messages" tabIndex={-1}>
        <div class="thread">
          <header class="shared-head">
            <h1 dir="auto">{chat.title}</h1>
            <p class="soft-note"><Icon name="link" />{s.shared(moment(chat.shared_at))}</p>
          </header>
          {messages.map((m, i) => (
            <div key={m.id} class={`message ${m.role}`}>
              {m.role === "user" ? <div class="question"><div class="bubble" dir="auto">{m.text}</div></div> : <SharedAnswer message={m} leftOut={chat.messages[i]?.parley?.left_out === true} />}
            </div>
          ))}
          <p class="shared-end"><a class="button" href="#/chat" onClick={app.begin}><Icon name="plus" />{s.ask}</a></p>
        </div>
      </div>
    </div>
  );
}

function SharedAnswer({ message, leftOut }: { message: Message; leftOut: boolean }) {
  const answer = message.answer!;
  return (
    <article class="answer" aria-label={strings.chat.answer}>
      <AnswerText answer={answer} />
      {answer.status === "cancelled" && <p class="note">{strings.chat.stopped}</p>}
      {leftOut && <p class="warn-note"><Icon name="warn" />{s.leftOut}</p>}
      {answer.citations.length > 0 && <Sources answer={answer} />}
      {answer.text && <footer class="answer-foot"><CopyButton text={citedText(answer, strings.chat.source)} label={strings.chat.copyAnswer} /></footer>}
    </article>
  );
}
