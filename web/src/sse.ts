// Server-sent events over fetch, which, unlike EventSource, lets the caller send Last-Event-ID and see the status.

export interface ServerEvent {
  id: string;
  data: string;
}

/** Parser splits a stream of text into events (HTML standard, section 9.2.6). It skips comments. */
export class Parser {
  private rest = "";
  private id = "";
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.data.length > 0) events.push({ id: this.id, data: this.data.join("\n") });
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") this.data.push(value);
      if (name === "id") this.id = value;
    }
    return events;
  }
}

/**
 * readEvents yields the events of a response as they arrive. It throws when the connection breaks, or when nothing,
 * not even a comment, arrives for `idle` ms: the server sends a comment every 12 s.
 */
export async function* readEvents(response: Response, idle = 40_000): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new Parser();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), idle);
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // it may already be closed
  }
}

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("nothing came")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
