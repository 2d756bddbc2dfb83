// An answer goes on over a reload in its midst, a lost connection, and is stopped where it is.
import { answerText, begin } from "./ask.mjs";

export default async function ({ open, question, pieces }) {
  const { page, context, seen } = await open();
  const whole = () => page.waitForSelector(".answer-foot");
  const begun = () => page.waitForFunction(() => document.querySelector(".answer .markdown")?.textContent.includes("word3 "));

  await send(page, question + " reload");
  await begun();
  const before = await answerText(page);
  await page.reload();
  await whole();
  const reloaded = await answerText(page);

  // Left before the server has named the turn.
  await begin(page);
  await send(page, question + " early");
  await page.waitForSelector(".answer .doing");
  await page.waitForFunction(() => location.hash.length > 10);
  await page.waitForFunction(() => Object.keys(localStorage).some((k) => k.startsWith("parley.pending.")));
  await page.reload();
  await whole();
  const early = await answerText(page);
  const left = await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith("parley.pending.")).length);

  await begin(page);
  await send(page, question + " offline");
  await begun();
  await context.setOffline(true);
  await page.waitForSelector(".connection p");
  await page.waitForTimeout(500);
  await context.setOffline(false);
  await whole();
  const reconnected = await answerText(page);

  // Asked while there is no connection: the question waits, and is stored with its answer.
  await begin(page);
  await context.setOffline(true);
  await send(page, question + " later");
  await page.waitForSelector(".doing.reconnecting");
  await context.setOffline(false);
  await whole();
  await page.waitForFunction(() => location.hash.length > 10);
  await page.waitForFunction(async () => (await (await fetch(`/api/chat-history/${location.hash.split("/")[2]}/messages`)).json()).some((m) => m.parley?.status === "completed"));
  await page.reload();
  await page.waitForSelector(".answer-foot");
  const later = await answerText(page);
  const laterQuestion = await page.locator(".bubble").innerText();

  await begin(page);
  await send(page, question + " stop");
  await begun();
  await page.keyboard.press("Escape");
  await whole();
  const stopped = await answerText(page);
  const note = await page.locator(".answer .note").innerText();

  // Asked again, edited, and both versions are there.
  await page.locator('.answer-foot [aria-label="Regenerate"]').click();
  await page.locator(".menu-list button", { hasText: "Regenerate the answer" }).click();
  await page.waitForSelector(".answer.at-work");
  await whole();
  const retried = await answerText(page);
  const versions = await page.locator(".answer-foot .versions").innerText();
  await page.locator("#question").focus();
  await page.keyboard.press("ArrowUp");
  const edited = await page.locator("#question").inputValue();
  return { before, reloaded, early, left, reconnected, later, laterQuestion, stopped, note, retried, versions, edited, pieces, seen };
}

async function send(page, question) {
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
}
