// Row S9: texts of models, documents and clients that try to run something, or to ask another host, in
// every place of the page that shows texts. Once under the page's policy, and once without it, so that
// it is the page which holds and not only the policy.
import { answerText, ask, begin } from "./ask.mjs";
import { addresses, vectors } from "./vectors.mjs";

const words = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, reasoning_tokens: 0, estimated: false };

/** A stored conversation in which each text of the page is a vector. */
function conversation(some) {
  const messages = [];
  let parent = "";
  some.forEach((v, i) => {
    const label = `${v.replace(/[\[\]]/g, "")} ${i}`;
    const url = addresses[i % addresses.length];
    messages.push({ messageId: `q${i}`, parentId: parent, role: "user", content: v, createdAt: v });
    messages.push({
      messageId: `a${i}`, parentId: `q${i}`, role: "assistant", content: `Said [source ${i}] and [${label}]. ${v}\n\n${v}`, status: "completed",
      parley: {
        status: i % 10 === 9 ? "failed" : "completed", error: i % 10 === 9 ? { kind: v, message: v } : null, turn: "", model: v, reasoning: v, followUps: [v], usage: words, cost: 0, duration: 5, found: 1,
        stages: [{ stage: v, agent: v, status: "finished", duration: 1, model: v, note: v, usage: words, cost: 0 }],
        calls: [{ stage: v, provider: v, model: v, status: v, duration: 1, usage: words, cost: 0 }],
        doubts: [{ label: v, kind: "unsupported", sentence: v, reason: v }],
        citations: [`source ${i}`, label].map((cited) => ({ n: 1, label: cited, document_id: i % 2 ? v : "", name: v, title: v, url, namespace: v, page: 1, kind: v, start: 0, end: 4, quote: v, passage: `${v} ${v}`, content_url: url, supported: i % 3 > 0, stale: i % 4 === 0, spans: [{ occurrence: 0, start: 0, end: 4, quote: v, supported: true, stale: false }] })),
      },
    });
    parent = `a${i}`;
  });
  return messages;
}

const together = 16; // vectors of a question

export default async function ({ base, open }) {
  const chats = [];
  const json = { "Content-Type": "application/json", Origin: base };
  for (let at = 0; at < vectors.length; at += 40) {
    const some = vectors.slice(at, at + 40);
    const made = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json, body: JSON.stringify({ mode: "standard", title: some[0].slice(0, 900) }) })).json();
    const put = await fetch(`${base}/api/chat-history/${made.id}/messages`, { method: "PUT", headers: json, body: JSON.stringify({ messages: conversation(some) }) });
    if (!put.ok) throw new Error(await put.text());
    chats.push({ id: made.id, size: some.length });
  }
  const reports = [];
  for (const bypassCSP of [false, true]) {
    const { page, seen } = await open({ context: { bypassCSP } });
    const bad = [];
    const inspect = async (where) => bad.push(...(await page.evaluate(unsafe)).map((b) => `${where}: ${b}`));
    let shown = 0;
    for (const { id, size } of chats) {
      await page.goto(`${base}/#/chat/${id}`);
      await page.waitForFunction((n) => document.querySelectorAll(".message").length === n, 2 * size);
      shown += size;
      await inspect("conversation");
      for (const i of [0, Math.floor(size / 2), size - 1]) {
        const answer = page.locator(".answer").nth(i);
        await answer.locator("button.chip").first().scrollIntoViewIfNeeded();
        await page.waitForTimeout(100);
        await answer.locator("button.chip").first().focus();
        await page.waitForSelector("#citation-tip");
        await inspect("tip");
        await answer.locator("button.chip").first().click();
        await page.waitForSelector(".panel-body");
        await inspect("source");
        await page.keyboard.press("Escape");
        await answer.locator(".thinking-button").click();
        await page.waitForSelector(".panel-body.thinking");
        await inspect("thinking");
        await page.keyboard.press("Escape");
      }
      await page.keyboard.press("Control+k");
      await page.waitForSelector(".palette");
      await inspect("palette");
      await page.keyboard.press("Escape");
      await page.fill("#question", vectors[(shown * 7) % vectors.length]);
      await page.locator(".composer .menu button").first().click();
      await page.locator(".menu-list button", { hasText: "View as API request" }).click();
      await page.waitForSelector("dialog.request");
      await inspect("request");
      await page.keyboard.press("Escape");
      await page.fill("#question", "");
    }
    // What a model streams, and what documents are called and hold.
    await begin(page);
    let streamed = 0; // the model answers with what it was asked
    for (let at = 0; at < vectors.length; at += together) {
      await ask(page, vectors.slice(at, at + together).join("\n\n"));
      await inspect("streamed");
      streamed += (await answerText(page)).length;
    }
    await page.locator(".thinking-button").last().click();
    await page.waitForSelector(".passages li");
    await page.evaluate(() => document.querySelectorAll(".panel details").forEach((d) => (d.open = true)));
    await inspect("thinking of a turn");
    await page.keyboard.press("Escape");
    await page.goto(`${base}/#/documents`);
    await page.waitForSelector(".documents tbody tr");
    const documents = await page.locator(".documents tbody tr").count();
    await inspect("documents");
    for (let i = 0; i < documents; i++) {
      await page.goto(`${base}/#/documents`);
      await page.locator(".documents tbody a").nth(i).click();
      await page.waitForSelector(".chunks li");
      await inspect("document");
      await page.locator(".chunks button").first().click();
      await page.waitForSelector(".page-words, .page-picture");
      await inspect("page");
      await page.keyboard.press("Escape");
    }
    await page.goto(`${base}/#/settings`);
    await page.waitForSelector(".setting");
    await inspect("settings");
    reports.push({ shown, streamed, documents, bad: bad.slice(0, 20), seen });
    await page.context().close();
  }
  return { vectors: new Set(vectors).size, reports };
}

/** What must be nowhere in the page. */
function unsafe() {
  const bad = [];
  const known = new Set(["path", "svg", "rect"]);
  const links = /^(https?:|mailto:|#|\/content\/)/;
  for (const el of document.body.querySelectorAll("*")) {
    const tag = el.localName;
    if (/^(script|iframe|frame|object|embed|applet|style|link|base|meta|template|math|portal|audio|video|marquee)$/.test(tag)) bad.push(`<${tag}>`);
    if (el.namespaceURI !== "http://www.w3.org/1999/xhtml" && !known.has(tag)) bad.push(`<${tag}> of ${el.namespaceURI}`);
    if (tag === "img" && !(el.getAttribute("src") ?? "").startsWith("/api/documents/")) bad.push(`picture ${el.getAttribute("src")}`);
    for (const { name, value } of el.attributes) {
      if (/^on/i.test(name)) bad.push(`${tag}[${name}]`);
      if (/^(href|xlink:href|action|formaction|ping|srcdoc|background|poster)$/.test(name) && !links.test(value)) bad.push(`${tag}[${name}=${value}]`);
      if (name === "style" && /url|expression|behavior/i.test(value)) bad.push(`${tag}[style=${value}]`);
    }
    if (tag === "a" && el.target === "_blank" && !/noopener/.test(el.rel)) bad.push("a without noopener");
  }
  return bad;
}
