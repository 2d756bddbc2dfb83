// A turn at work: asking, following it over reloads and lost connections, stopping it.
import { ApiError, json, refusal, send, toApiError, turnPath } from "./calls.ts";
import { reach, reachable } from "./reach.ts";
import { readEvents } from "./sse.ts";
import { strings } from "./strings.ts";
import { apply, complete, isOver, type Answer } from "./turnstate.ts";
import type { TurnEvent, TurnRecord } from "./types.ts";

/** Pending is a question whose turn has not ended: enough to ask again after a reload and get the same turn. */
export interface Pending {
  key: string; // of idempotency, and the id under which the steps are told
  path: string;
  body: unknown;
}

interface Callbacks {
  /** The answer has changed; `over` with its last state. */
  changed(answer: Answer, over: boolean): void;
  /** The server has named the turn. */
  named(turn: string): void;
}

// How often what comes is shown. More would cost without being seen.
const frame = 90; // ms
const waits = [300, 700, 1500, 3000, 5000, 8000]; // ms before trying again, the last one for ever

/** LiveTurn follows one turn to its end. */
export class LiveTurn {
  private seen = 0; // id of the last event
  private stopped = false;
  private gone = new AbortController(); // the page is done with it
  private timer = 0;

  constructor(
    private answer: Answer,
    private readonly callbacks: Callbacks,
  ) {}

  /** Asks, or asks again with the same key, which is the same turn; then follows it. A function is called to build the request. */
  async ask(asked: Pending | (() => Promise<Pending>)): Promise<void> {
    await this.run(async () => {
      for (let tries = 0; ; tries++) {
        try {
          const request = typeof asked === "function" ? await asked() : asked;
          if (this.stopped && typeof asked === "function") return; // nothing has been asked
          await this.begin(request);
          return;
        } catch (error) {
          if (toApiError(error).kind !== "offline" || this.gone.signal.aborted || this.stopped) throw error;
          this.set({ status: "reconnecting" });
          await this.pause(tries);
        }
      }
    });
  }

  /** Follows a turn whose name is known. */
  async resume(turn: string): Promise<void> {
    await this.run(async () => {
      this.set({ turn });
      await this.follow(turn);
    });
  }

  /** Stops the turn. What was said so far stays. */
  stop(): void {
    this.stopped = true;
    if (this.answer.turn) this.sendStop(this.answer.turn);
    else this.finish({ status: "cancelled" }); // its name, and with it the end, comes in the background
  }

  /** Leaves the turn to itself: it goes on at the server. */
  leave(): void {
    this.gone.abort();
    clearTimeout(this.timer);
  }

  private async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.gone.signal.aborted || isOver(this.answer)) return;
      const failure = toApiError(error);
      this.finish({ status: "failed", error: { kind: failure.kind, message: failure.message, retryAfter: failure.retryAfter } });
    }
  }

  private async begin(pending: Pending): Promise<void> {
    const connection = new AbortController(); // of the request and its steps; the events follow the turn instead
    const signal = AbortSignal.any([connection.signal, this.gone.signal]);
    void this.watchSteps(pending.key, signal);
    try {
      const response = await this.post(pending, signal);
      const turn = response.headers.get("X-Turn-Id") ?? "";
      if (!turn) throw new ApiError("failed", "");
      this.set({ turn, step: "" });
      this.callbacks.named(turn);
      if (this.stopped) this.sendStop(turn);
      connection.abort();
      await this.follow(turn);
    } finally {
      connection.abort();
    }
  }

  private async post(pending: Pending, signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await reach(pending.path, {
        method: "POST",
        signal,
        headers: { "Content-Type": "application/json", "Idempotency-Key": pending.key, "X-On-Disconnect": "finish" },
        body: JSON.stringify(pending.body),
      });
    } catch (error) {
      throw toApiError(error);
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** Shows the steps before the turn has a name. Without them all goes on. */
  private async watchSteps(id: string, signal: AbortSignal): Promise<void> {
    try {
      const response = await reach(`/chat/stream/stages?query_id=${encodeURIComponent(id)}`, { signal });
      if (!response.ok) return;
      for await (const { data } of readEvents(response)) {
        const step = JSON.parse(data) as { type?: string; stage?: string };
        if (step.type === "stage" && typeof step.stage === "string" && !this.answer.turn) this.set({ step: step.stage });
      }
    } catch {
      // The request is answered, or the connection is lost: the latter the request tells.
    }
  }

  private async follow(turn: string): Promise<void> {
    for (let tries = 0; !isOver(this.answer) && !this.gone.signal.aborted; tries++) {
      try {
        const before = this.seen;
        const more = await this.readEvents(turn);
        if (this.seen > before) tries = -1;
        if (!more) break;
      } catch (error) {
        const failure = toApiError(error);
        if (failure.kind === "missing") break; // its events are not kept any more
        if (failure.kind !== "offline" && failure.status < 500) throw failure;
        if (this.gone.signal.aborted) return;
        if (failure.kind === "offline") reachable.value = false; // also when a stream broke that had begun
        this.set({ status: "reconnecting" });
      }
      if (!isOver(this.answer)) await this.pause(tries);
    }
    if (!this.gone.signal.aborted) await this.settle(turn);
  }

  /** Reads events from the last one seen on; false when none will come any more. */
  private async readEvents(turn: string): Promise<boolean> {
    const response = await reach(`${turnPath(turn)}/events`, {
      headers: this.seen > 0 ? { "Last-Event-ID": String(this.seen) } : {},
      signal: this.gone.signal,
    });
    if (!response.ok) throw await refusal(response);
    if (response.status === 204) return false;
    if (this.answer.status === "reconnecting") this.set({ status: this.answer.text ? "streaming" : "waiting" });
    for await (const { data } of readEvents(response)) this.take(JSON.parse(data) as TurnEvent);
    return true;
  }

  private take(event: TurnEvent): void {
    if (event.seq <= this.seen) return;
    this.seen = event.seq;
    apply(this.answer, event);
    if (this.stopped && this.answer.status === "failed") this.answer.status = "cancelled";
    this.show();
  }

  /** Fetches what only the whole turn tells: places of citations, costs, the thought process. */
  private async settle(turn: string): Promise<void> {
    for (let tries = 0; tries < 4; tries++) {
      try {
        const record = await json<TurnRecord>(turnPath(turn));
        if (record.status !== "running") {
          this.finish(complete(this.answer, record));
          return;
        }
      } catch (error) {
        if (toApiError(error).kind === "missing") break;
      }
      await this.pause(tries);
    }
    this.finish(isOver(this.answer) ? {} : { status: "failed", error: { kind: "missing", message: strings.errors.lost } });
  }

  private sendStop(turn: string): void {
    send(turnPath(turn), { method: "DELETE" }).catch(() => {
      // It has ended by itself, or cannot be reached: the events tell which.
    });
  }

  private pause(tries: number): Promise<void> {
    const ms = waits[Math.min(Math.max(tries, 0), waits.length - 1)]!;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        removeEventListener("online", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      addEventListener("online", done);
      this.gone.signal.addEventListener("abort", done);
    });
  }

  private set(change: Partial<Answer>): void {
    if (isOver(this.answer)) return;
    Object.assign(this.answer, change);
    this.show();
  }

  /** Shows the state, but not more often than each frame. Only finish shows the end, with the places of the citations. */
  private show(): void {
    if (this.timer || this.gone.signal.aborted) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.finished) return;
      const status = isOver(this.answer) ? "streaming" : this.answer.status;
      this.callbacks.changed({ ...this.answer, status, stages: [...this.answer.stages] }, false);
    }, frame);
  }

  private finished = false;

  private finish(change: Partial<Answer>): void {
    if (this.finished || this.gone.signal.aborted) return;
    this.finished = true;
    clearTimeout(this.timer);
    Object.assign(this.answer, change, { step: "" });
    this.callbacks.changed({ ...this.answer }, true);
  }
}
