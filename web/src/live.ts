// A turn in progress: asking, following it across reloads and lost connections, and stopping it.
import { ApiError, json, refusal, send, toApiError, turnPath } from "./calls.ts";
import { reach, reachable } from "./reach.ts";
import { readEvents } from "./sse.ts";
import { strings } from "./strings.ts";
import { apply, complete, isOver, type Answer } from "./turnstate.ts";
import type { TurnEvent, TurnRecord } from "./types.ts";

/** Pending is the request of an unfinished turn: sent again with the same key after a reload, it returns the same turn. */
export interface Pending {
  key: string; // the idempotency key, and the query id for the stream of steps
  path: string;
  body: unknown;
}

interface Callbacks {
  /** Called when the answer has changed. `over` is set on the last call. */
  changed(answer: Answer, over: boolean): void;
  /** Called when the server has named the turn. */
  named(turn: string): void;
}

// The shortest time between two updates of the page. More frequent ones would cost time and not be noticed.
const frame = 90; // ms
const waits = [300, 700, 1500, 3000, 5000, 8000]; // ms before each retry; the last one repeats

/** LiveTurn follows one turn to its end. */
export class LiveTurn {
  private seen = 0; // id of the last event
  private stopped = false;
  private gone = new AbortController(); // aborted by leave()
  private timer = 0;

  constructor(
    private answer: Answer,
    private readonly callbacks: Callbacks,
  ) {}

  /** Asks and follows the turn. Asking again with the same key resumes the same turn. A function builds the request when it is needed. */
  async ask(asked: Pending | (() => Promise<Pending>)): Promise<void> {
    await this.run(async () => {
      for (let tries = 0; ; tries++) {
        try {
          const request = typeof asked === "function" ? await asked() : asked;
          if (this.stopped && typeof asked === "function") return; // stopped before anything was sent
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

  /** Follows a turn whose id is known. */
  async resume(turn: string): Promise<void> {
    await this.run(async () => {
      this.set({ turn });
      await this.follow(turn);
    });
  }

  /** Stops the turn. The text so far is kept. */
  stop(): void {
    this.stopped = true;
    if (this.answer.turn) this.sendStop(this.answer.turn);
    else this.finish({ status: "cancelled" }); // begin stops the turn at the server once it is named
  }

  /** Stops following the turn; it continues on the server. */
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
    const connection = new AbortController(); // for the request and its steps; once the turn is named, its events take over
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

  /** Shows the steps until the turn is named. Failures do not matter. */
  private async watchSteps(id: string, signal: AbortSignal): Promise<void> {
    try {
      const response = await reach(`/chat/stream/stages?query_id=${encodeURIComponent(id)}`, { signal });
      if (!response.ok) return;
      for await (const { data } of readEvents(response)) {
        const step = JSON.parse(data) as { type?: string; stage?: string };
        if (step.type === "stage" && typeof step.stage === "string" && !this.answer.turn) this.set({ step: step.stage });
      }
    } catch {
      // The request was answered, or the connection was lost, which the request itself notices.
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
        if (failure.kind === "missing") break; // its events are no longer kept
        if (failure.kind !== "offline" && failure.status < 500) throw failure;
        if (this.gone.signal.aborted) return;
        if (failure.kind === "offline") reachable.value = false; // reach notices failed requests, but not a stream that breaks later
        this.set({ status: "reconnecting" });
      }
      if (!isOver(this.answer)) await this.pause(tries);
    }
    if (!this.gone.signal.aborted) await this.settle(turn);
  }

  /** Reads the events after the last one seen. Returns false if there will be no more. */
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

  /** Fetches what only the finished turn has: places of citations, costs, the thought process. */
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
      // The turn has already ended, or the server cannot be reached: the events tell.
    });
  }

  private pause(tries: number): Promise<void> {
    const ms = waits[Math.min(Math.max(tries, 0), waits.length - 1)]!;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        removeEventListener("online", done);
        this.gone.signal.removeEventListener("abort", done);
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

  /** Reports the state, at most once per frame. Until finish reports the end, with the places of the citations, a finished answer counts as streaming. */
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
