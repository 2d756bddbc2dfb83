// What people expect of any page: Back, drops, drafts, tabs, titles, menus, print, other scripts, long conversations.
import { ask } from "./ask.mjs";

const json = (base) => ({ "Content-Type": "application/json", Origin: base });

async function store(base, messages) {
  const { id } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json(base), body: "{}" })).json();
  const list = messages.map((content, i) => ({ messageId: `m${i}`, parentId: i ? `m${i - 1}` : "", role: i % 2 ? "assistant" : "user", content }));
  for (let at = 0; at < list.length; at += 500) {
    const put = await fetch(`${base}/api/chat-history/${id}/messages`, { method: "PUT", headers: json(base), body: JSON.stringify({ messages: list.slice(at, at + 500) }) });
    if (!put.ok) throw new Error(await put.text());
  }
  return id;
}

const table = "| Begriff | Bedeutung | Anmerkung | Betrag | Datum | Stelle |\n|---|---|---|---|---|---|\n" +
  "| Entschädigungsleistung | Versicherungsnehmerin | Selbstbeteiligung | 1000 | 2026 | Hauptverwaltung |";

export default async function ({ base, open, question, broken }) {
  const result = {};
  const { page, context, seen } = await open({ context: { viewport: { width: 390, height: 844 } } });
  const opened = async () => {
    await page.locator(".answer button.chip").first().click();
    await page.waitForSelector(".panel .box, .panel mark");
  };
  const closed = async () => {
    await page.waitForSelector(".panel", { state: "detached" });
    await page.waitForTimeout(400); // a tip would be there by now
    return { tip: await page.locator("#citation-tip").count(), url: page.url(), focus: await page.evaluate(() => document.activeElement.className) };
  };

  // The panel: its button, Esc and Back close it, and nothing else happens.
  await ask(page, question);
  await page.waitForFunction(() => location.hash.length > 10);
  result.at = page.url();
  result.title = await page.title();
  await opened();
  await page.locator(".panel [aria-label=Close]").click();
  result.byButton = await closed();
  await opened();
  await page.keyboard.press("Escape");
  result.byKey = await closed();
  await opened();
  await page.goBack();
  result.byBack = await closed();

  // A file that is dropped beside everything does not replace the page.
  result.dropTaken = await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["x"], "x.txt"));
    return !document.querySelector(".top-bar").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  });

  // Drafts belong to their conversation.
  await page.fill("#question", "half a question");
  await page.locator(".top-bar [aria-label='New conversation']").click();
  await page.waitForSelector(".welcome");
  result.draftElsewhere = await page.inputValue("#question");
  await page.goto(result.at);
  await page.waitForSelector(".answer-foot");
  result.draftBack = await page.inputValue("#question");
  await page.reload();
  await page.waitForSelector(".answer-foot");
  result.draftAfterReload = await page.inputValue("#question");
  await page.fill("#question", "");

  // Two tabs.
  const other = await context.newPage();
  await other.goto(result.at);
  await other.waitForSelector(".answer-foot");
  await ask(page, question);
  await other.waitForFunction(() => document.querySelectorAll(".answer-foot").length === 2);
  await other.close();

  // Right-to-left text, and tables with long words.
  const arabic = await store(base, ["ما هي ساعات العمل؟", "ساعات العمل من التاسعة.\n\n- أولاً\n- ثانياً", "Tabelle?", table, "Code?", "```go\nfunc main() { return \"<b>\" }\n```\n\n```unknown\nx\n```"]);
  await page.goto(`${base}/#/chat/${arabic}`);
  await page.waitForSelector(".table-scroll td");
  result.directions = await page.evaluate(() => [".bubble", ".markdown p", ".markdown ul"].map((q) => getComputedStyle(document.querySelector(q)).direction));
  await page.waitForSelector(".code .token.keyword");
  result.code = await page.locator(".code code").first().innerText();
  result.brokenWords = await page.evaluate(() => [...document.querySelectorAll(".table-scroll td")].filter((td) => {
    const range = document.createRange();
    range.selectNodeContents(td);
    return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1;
  }).length);

  // A long conversation: what is far away is not in the page, and comes when somebody scrolls to it. Paper has all of it.
  const long = await store(base, Array.from({ length: 1000 }, (_, i) => `Message ${i}`));
  await page.goto(`${base}/#/chat/${long}`);
  await page.waitForFunction(() => [...document.querySelectorAll(".message")].at(-1)?.textContent.includes("Message 999"));
  await page.waitForFunction(() => document.querySelectorAll(".message").length >= 200);
  await page.waitForTimeout(500);
  result.inPage = await page.locator(".message").count();
  await page.evaluate(() => { document.querySelector(".messages").scrollTop = 0; });
  await page.waitForFunction((n) => document.querySelectorAll(".message").length > n, result.inPage);
  result.printed = (await page.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g).length;

  // Menus are whole, also in the last row.
  await page.setViewportSize({ width: 1280, height: 480 });
  await page.goto(`${base}/#/documents`);
  await page.waitForSelector(".documents tbody tr");
  await page.locator(".documents .menu button").last().scrollIntoViewIfNeeded();
  await page.locator(".documents .menu button").last().click();
  await page.waitForSelector(".menu-list button");
  result.menu = await page.evaluate(() => [...document.querySelectorAll(".menu-list button")].map((b) => {
    const r = b.getBoundingClientRect();
    return b.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
  }));
  await page.keyboard.press("Escape");

  // Uploads keep names and reasons; those of another namespace are not listed.
  const form = new FormData();
  form.append("file", new Blob(["Elsewhere."]), "elsewhere.txt");
  await fetch(`${base}/upload?namespace=hr`, { method: "POST", headers: { Origin: base }, body: form });
  await page.setInputFiles("input[type=file]", { name: "broken.pdf", mimeType: "application/pdf", buffer: Buffer.from(broken) });
  await page.waitForSelector(".job[data-state=failed]", { timeout: 4 * 60_000 }); // parsers give way to everything else on a busy machine
  const told = await page.locator(".job[data-state=failed] .job-files").innerText();
  await page.goto(`${base}/#/chat`);
  await page.waitForSelector(".welcome");
  await page.goto(`${base}/#/documents`);
  await page.waitForSelector(".job[data-state=failed] .job-files");
  result.uploadKept = (await page.locator(".job[data-state=failed] .job-files").innerText()) === told;
  await page.reload();
  await page.waitForSelector(".job[data-state=failed] .job-files");
  result.uploadAfterReload = await page.locator(".job[data-state=failed]").innerText();
  result.jobs = await page.locator(".jobs").innerText();

  // A file over the limit is not sent.
  const config = await (await fetch(`${base}/api/ui/config`)).json();
  await page.route("**/api/ui/config", (route) => route.fulfill({ json: { ...config, limits: { ...config.limits, upload: 10 } } }));
  await page.reload();
  let sent = 0;
  page.on("request", (r) => /\/upload/.test(r.url()) && sent++);
  await page.waitForSelector(".documents tbody tr");
  await page.setInputFiles("input[type=file]", { name: "large.txt", mimeType: "text/plain", buffer: Buffer.from("more than ten bytes") });
  await page.waitForSelector(".job .bad");
  result.tooLarge = await page.locator(".job", { hasText: "large.txt" }).innerText();
  result.sent = sent;
  return { ...result, seen };
}
