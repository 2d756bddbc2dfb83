// A conversation is shared by a link, read by somebody who may not see all of its sources, and no longer shared.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";
import { vectors } from "./vectors.mjs";

export default async function ({ base, open, owner, reader, shots }) {
  const out = { findings: [] };
  const as = (key, more = {}) => ({ extraHTTPHeaders: { Authorization: `Bearer ${key}` }, bypassCSP: true, viewport: { width: 1280, height: 800 }, ...more });
  const call = async (method, path, body) => (await fetch(base + path, { method, headers: { Authorization: `Bearer ${owner}`, "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
  const documents = (await call("GET", "/api/documents")).documents;
  const cited = (name, quote) => {
    const d = documents.find((x) => x.name.endsWith(name));
    return { n: 1, label: d.name, document_id: d.id, name: d.name, title: d.title, namespace: d.namespace, page: 0, quote, passage: quote, url: "javascript:__ran()", content_url: "javascript:__ran()", supported: true, spans: [] };
  };
  const [shown, hidden] = [cited("skagen.md", "The lighthouse of Skagen is 46 metres tall."), cited("wages.md", "The keeper earns 4711 kroner.")];
  const { id } = await call("POST", "/api/chat-history", {});
  const store = (messages) => call("PUT", `/api/chat-history/${id}/messages`, { messages });
  await store([
    { messageId: "q", parentId: "", role: "user", content: "What of the lighthouse?" },
    { messageId: "a", parentId: "q", role: "assistant", content: `It is tall [${shown.label}]. The keeper earns 4711 kroner [${hidden.label}].`, parley: { status: "completed", citations: [shown, hidden] } },
    ...vectors.slice(0, 60).flatMap((v, i) => [
      { messageId: `q${i}`, parentId: i ? `a${i - 1}` : "a", role: "user", content: v, createdAt: v },
      { messageId: `a${i}`, parentId: `q${i}`, role: "assistant", content: `${v}\n\n${v} [${shown.label}]`, parley: { status: v, finish: v, citations: [{ ...shown, title: v, quote: v, passage: v, kind: v }] } },
    ]),
  ]);

  const { page, seen } = await open({ context: as(owner), path: `/#/chat/${id}` });
  const look = async (p, name) => {
    for (const [width, height] of [[390, 844], [1280, 800]]) {
      await p.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await p.emulateMedia({ colorScheme });
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await p.screenshot({ path: `${shots}/share-${name}-${width}-${colorScheme}.png` });
        }
      }
      if (await p.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)) out.findings.push(`${name} ${width}: wider than the screen`);
    }
    const { violations } = await axe(p);
    out.findings.push(...violations.map((v) => `${name}: ${told(v)}`));
  };
  const share = async () => {
    await page.locator(".chats li.current").hover();
    await page.locator(".chats li.current .menu button").click();
    await page.locator(".menu-list button", { hasText: "Share" }).click();
    await page.waitForSelector("dialog .dialog-actions");
  };
  await share();
  await page.getByRole("button", { name: "Create link" }).click();
  const address = await page.locator(".share-link").inputValue();
  out.sameOrigin = address.startsWith(`${base}/#/shared/`);
  await look(page, "dialog");
  await page.keyboard.press("Escape");
  out.marked = await page.locator(".chats li.current .chat-shared").count();

  const path = address.slice(base.length);
  const other = await open({ context: as(reader), path });
  await other.page.waitForSelector(".shared-head");
  out.messages = await other.page.locator(".message").count();
  out.answer = await other.page.locator(".answer").first().innerText();
  out.leftOut = await other.page.locator(".warn-note").count();
  out.secret = (await other.page.content()).includes("4711") || (await other.page.content()).includes("wages");
  out.editable = await other.page.locator("#question, [aria-label='Good answer'], [aria-label='Edit']").count();
  await look(other.page, "read");
  await other.page.setViewportSize({ width: 1280, height: 800 });
  await other.page.locator(".answer").first().locator("button.chip").click();
  await other.page.waitForSelector(".panel .pager"); // the reader has come
  out.opened = await other.page.locator(".panel h2").first().innerText();
  await other.page.goBack();
  await other.page.waitForSelector(".panel", { state: "detached" });
  out.stays = await other.page.locator(".shared-head").count();

  // In Arabic, from the right.
  const arabic = await open({ context: as(reader), path: `/?lang=ar${path.slice(1)}` });
  await arabic.page.waitForSelector(".shared-head");
  await look(arabic.page, "arabic");

  await store([{ messageId: "later", parentId: "a59", role: "user", content: "A later matter" }]);
  await other.page.reload();
  await other.page.waitForSelector(".shared-head");
  out.later = await other.page.getByText("A later matter").count();
  await share();
  await page.getByRole("button", { name: "Share newer messages too" }).click();
  await page.waitForFunction(() => !document.querySelector("dialog .dialog-actions button + button"));
  await page.getByRole("button", { name: "Revoke link" }).click();
  await page.getByRole("button", { name: "Create link" }).waitFor();
  await other.page.reload();
  await other.page.waitForSelector(".empty");
  out.revoked = await other.page.locator(".empty h2").innerText();
  await look(other.page, "revoked");
  return { ...out, seen: { errors: [...seen.errors, ...other.seen.errors, ...arabic.seen.errors], dialogs: other.seen.dialogs, foreign: [...seen.foreign, ...other.seen.foreign], scripts: seen.scripts + other.seen.scripts + arabic.seen.scripts } };
}
