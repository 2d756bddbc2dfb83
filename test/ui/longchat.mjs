// A long conversation opens at its end, goes on as one scrolls up, and loses nothing when one asks, edits or exports before all of it is loaded.
import { readFileSync } from "node:fs";
import { longConversation } from "./bench.mjs";

export default async function ({ base, open, messages, question }) {
  const id = await longConversation(base, messages);
  const stored = async (id, wanted) => { // an answer is stored after it is shown
    for (let tries = 0; ; tries++) {
      const all = await (await fetch(`${base}/api/chat-history/${id}/messages`)).json();
      if (all.length >= wanted || tries === 100) return all;
      await page.waitForTimeout(100);
    }
  };
  const kept = async (wanted) => (await stored(id, wanted)).map((m) => m.messageId);
  const { page, seen } = await open();
  const parts = []; // messages of each answer with some
  const asked = []; // bodies of the questions
  page.on("response", (r) => {
    if (r.request().method() === "GET" && r.url().includes(`${id}/messages`)) r.json().then((list) => parts.push(list.length), () => {}); // the page was left
  });
  page.on("request", (r) => r.method() === "POST" && r.url().endsWith("/p/ragchat/chat") && asked.push(r.postDataJSON()));
  const ids = () => page.locator(".message").evaluateAll((all) => all.map((m) => m.dataset.id));
  const scroller = page.locator(".messages");
  const atEnd = () => scroller.evaluate((el) => el.scrollHeight - el.scrollTop - el.clientHeight < 80);
  const show = async () => {
    await page.goto("about:blank");
    parts.length = 0;
    await page.goto(`${base}/#/chat/${id}`);
    await page.waitForSelector(".message.last", { state: "attached" });
    while (parts.length === 0) await page.waitForTimeout(20);
  };
  const answered = async (text) => {
    await page.fill("#question", text);
    await page.keyboard.press("Enter");
    await page.waitForFunction((text) => [...document.querySelectorAll(".bubble")].at(-1).textContent === text && document.querySelector(".message.last .answer-foot") && !document.querySelector(".at-work"), text);
  };
  const result = {};

  // It opens at its end; a part comes without being asked for, the rest as one scrolls up.
  await show();
  result.first = parts[0];
  await page.waitForFunction(() => document.querySelectorAll(".message").length >= 200);
  await page.waitForTimeout(1000);
  result.opened = { last: (await ids()).at(-1), atEnd: await atEnd(), inPage: (await ids()).length, button: await page.locator(".earlier").innerText() };
  result.jumps = [];
  while ((await ids())[0] !== "m0") {
    const before = await ids();
    await scroller.evaluate((el) => el.scrollTo(0, 0));
    await page.waitForFunction((first) => document.querySelector(".message").dataset.id !== first, before[0]);
    await page.waitForTimeout(300);
    const top = await page.locator(`[data-id="${before[0]}"]`).evaluate((el) => el.getBoundingClientRect().top);
    if (top < -100 || top > 600) result.jumps.push(top);
  }
  result.scrolled = { ids: await ids(), parts: parts.slice(), button: await page.locator(".earlier").count() };

  // Asked while only the end is loaded.
  await show();
  await answered(question);
  result.asked = { history: asked.at(-1).history.length, last: asked.at(-1).history.at(-1).content.slice(0, 10), kept: await kept(messages + 2), atEnd: await atEnd() };

  // An old question is edited: both versions are there, also after a reload, which must now begin further up.
  await show();
  const old = page.locator(`[data-id="m${messages - 60}"]`);
  await old.scrollIntoViewIfNeeded();
  await old.locator(".question-foot button").last().click();
  await answered("An edited question?");
  result.edited = { history: asked.at(-1).history.length, kept: (await kept(messages + 4)).length };
  await show();
  await page.waitForSelector(".versions");
  result.reloaded = { first: parts[0], versions: await page.locator(".versions").first().innerText(), last: await page.locator(".message.user").last().innerText() };

  // Printed while only the end is loaded.
  await show();
  await page.pdf();
  result.printed = (await ids()).length;

  // Exported while only the end is loaded.
  await show();
  const download = page.waitForEvent("download");
  download.catch(() => {}); // what comes first says more
  await page.locator(".chats li").first().hover();
  await page.locator('.chats [aria-label^="Actions for"]').first().click();
  await page.locator(".menu-list button", { hasText: "JSON" }).click();
  const exported = JSON.parse(readFileSync(await (await download).path(), "utf8"));
  result.exported = exported.messages.length;

  // Messages of a client that names no parents: what is stored again keeps its place.
  const { id: flat } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: { "Content-Type": "application/json", Origin: base }, body: "{}" })).json();
  const plain = Array.from({ length: 250 }, (_, i) => ({ messageId: `f${i}`, role: i % 2 ? "assistant" : "user", content: `Said ${i}` }));
  await fetch(`${base}/api/chat-history/${flat}/messages`, { method: "PUT", headers: { "Content-Type": "application/json", Origin: base }, body: JSON.stringify({ messages: plain }) });
  await page.goto("about:blank");
  await page.goto(`${base}/#/chat/${flat}`);
  await page.locator('[data-id="f150"] .question-foot button').last().click();
  await answered("Edited where a part begins?");
  const after = await stored(flat, 252);
  result.flat = { parent: after.find((m) => m.content === "Edited where a part begins?").parentId, messages: after.length };
  return { ...result, kept: await kept(messages + 4), seen };
}
