// From an empty server to a cited answer, and what can be done with it.
import { ask } from "./ask.mjs";

const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

export default async function ({ base, open, question, text }) {
  const result = {};
  const { page, context, seen } = await open({ context: { viewport: { width: 960, height: 800 } } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });

  // First run: choose a file, ask about it.
  await page.waitForSelector(".first-run li");
  result.steps = await page.locator(".first-run h3").allInnerTexts();
  await page.setInputFiles(".first-run input[type=file]", file("pier.md", text));
  await page.locator(".attachments button", { hasText: "Ask about this" }).click();
  await page.waitForSelector(".answer-foot");
  result.about = await page.locator(".bubble").innerText();
  result.chips = await page.locator(".answer button.chip").count();

  // Files that are pasted or dropped where one asks.
  for (const [kind, name] of [["paste", "pasted.txt"], ["drop", "dropped.txt"]]) {
    await page.evaluate(([type, called]) => {
      const data = new DataTransfer();
      data.items.add(new File([`The ${type} is here.`], called, { type: "text/plain" }));
      const event = type === "paste" ? new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }) : new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data });
      document.querySelector(type === "paste" ? "#question" : ".messages").dispatchEvent(event);
    }, [kind, name]);
    await page.waitForFunction((called) => [...document.querySelectorAll(".attachments li")].some((li) => li.textContent.includes(called) && li.querySelector("button.small")), name);
    await page.locator(`.attachments [aria-label*="${name}"]`).last().click();
  }
  result.trayLeft = await page.locator(".attachments li").count();

  // Question cards.
  await page.locator(".top-bar [aria-label='New conversation']").click();
  await page.waitForFunction(() => document.querySelectorAll(".question-cards li").length === 3);
  result.cards = await page.locator(".question-cards button > span").allInnerTexts();
  await page.locator(".question-cards button", { hasText: "pier" }).first().click();
  await page.waitForSelector(".answer-foot");

  // The original beside the answer, and over it where there is no room.
  await page.locator(".top-bar [aria-label='New conversation']").click();
  await page.waitForSelector(".welcome");
  await ask(page, question);
  await page.waitForFunction(() => location.hash.length > 10);
  await page.locator(".answer button.chip").first().click();
  await page.waitForSelector(".panel mark");
  result.beside = await page.evaluate(() => document.querySelector(".answer").getBoundingClientRect().right <= document.querySelector(".panel").getBoundingClientRect().left);
  await page.keyboard.press("Escape");
  await page.waitForSelector(".panel", { state: "detached" });

  // Copied with its citations; rated with a reason, also after a reload; what it took.
  const copied = page.waitForSelector(".answer-foot [aria-label=Copied]"); // for a moment
  await page.locator(".answer-foot [aria-label='Copy with citations']").click();
  await copied;
  result.copied = await page.evaluate(() => navigator.clipboard.readText());
  await page.locator("[aria-label='Bad answer']").click();
  await page.locator(".reasons button", { hasText: "incomplete" }).click();
  await page.waitForSelector(".reasons", { state: "detached" });
  await page.waitForFunction(async () => {
    const id = location.hash.split("/")[2];
    const messages = await (await fetch(`/api/chat-history/${id}/messages`)).json();
    return messages.some((m) => m.parley?.feedback?.reason);
  });
  await page.reload();
  await page.waitForSelector(".answer-foot");
  result.rated = await page.locator("[aria-label='Bad answer']").getAttribute("aria-pressed");
  await page.locator(".thinking-button").click();
  await page.waitForSelector(".details");
  result.details = await page.locator(".details").innerText();
  await page.keyboard.press("Escape");

  // Settings.
  await page.goto(`${base}/#/settings`);
  await page.waitForSelector(".setting");
  result.tabs = await page.locator("[role=tab]").allInnerTexts();
  result.general = await page.locator(".setting").count();
  await page.locator("[role=tab]").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("[role=tab][aria-selected=true]:not(:first-child)");
  result.tab = await page.locator("[role=tab][aria-selected=true]").innerText();
  await page.fill(".settings input[type=search]", "temperature");
  await page.waitForFunction(() => document.querySelectorAll(".setting").length === 1);
  result.found = await page.locator(".setting").innerText();
  result.foundBy = {};
  for (const words of ["theme", "language", "rerank"]) {
    await page.fill(".settings input[type=search]", words);
    await page.waitForFunction((w) => [...document.querySelectorAll(".setting label")].some((l) => l.textContent.toLowerCase().includes(w)), words);
    result.foundBy[words] = await page.locator(".setting label").allInnerTexts();
  }
  await page.selectOption("#model-rerank", { index: 0 });

  // Esc closes the palette, whatever is written there.
  await page.keyboard.press("Control+k");
  await page.locator(".palette input").fill("sett");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".palette", { state: "detached" });

  // The menu of the question stands inside its frame, and files that are being read inside the page.
  await page.goto(`${base}/#/`);
  await page.locator(".composer .menu button").first().click();
  await page.waitForSelector(".menu-list");
  result.menuBegins = await page.evaluate(() => document.querySelector(".menu-list").getBoundingClientRect().left - document.querySelector(".composer .menu button").getBoundingClientRect().left);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.route("**/upload*", () => {}); // it is never answered
  await page.setInputFiles(".composer input[type=file]", file(`a-long-name-of-a-file-that-is-being-read-${"x".repeat(40)}.txt`, "Text."));
  await page.waitForSelector(".attachments progress");
  result.trayEnds = await page.locator(".attachments li").last().evaluate((li) => innerWidth - li.getBoundingClientRect().right);
  return { ...result, seen };
}
