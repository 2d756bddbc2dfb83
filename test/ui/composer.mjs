// Where one asks: the documents and the model that answer, the next question, another answer of another model.
import { ask } from "./ask.mjs";

export default async function ({ base, open, words }) {
  const result = {};
  const { page, seen } = await open({ context: { viewport: { width: 390, height: 844 } } });
  const model = { key: "openai:test-model", provider: "openai", model: "test-model", endpoint: "chat", pricing: { input_per_mm: 0.15, output_per_mm: 0.6 } };
  await page.route("**/api/models", (route) => route.fulfill({ json: { [model.key]: model } }));
  await page.waitForSelector(".composer-bar .model button");
  result.bar = await page.locator(".popup-text").allInnerTexts();

  // The model, by its plain name.
  const choose = async (name) => {
    await page.locator(".popup.model > button").click();
    await page.waitForFunction(() => document.querySelector(".model-list")?.textContent.includes("$"));
    result.models = await page.locator(".model-list button").allInnerTexts();
    await page.locator(".model-list button", { hasText: name }).click();
    await page.waitForSelector(".model-list", { state: "detached" });
  };
  await choose("Quotes only");

  // A ticked document is the only one that is asked.
  await page.locator(".popup.scope > button").click();
  await page.locator(".scope-list label", { hasText: words[0].title }).locator("input").check();
  await page.keyboard.press("Escape");
  await page.waitForSelector(".popup-box", { state: "detached" });
  result.focusBack = await page.evaluate(() => document.activeElement.closest(".popup")?.className ?? "");
  result.chips = await page.locator(".scope-chips li").allInnerTexts();
  await ask(page, words[1].question);
  result.elsewhere = await page.locator(".answer").last().innerText();
  await ask(page, words[0].question);
  result.inScope = await page.locator(".answer .source .title").last().innerText();
  await page.locator(".scope-chips button").click();

  // A document that is named with # and taken before the server has answered.
  await page.fill("#question", "#");
  await page.waitForFunction(() => document.querySelectorAll(".names li").length === 2);
  await page.route("**/api/documents?*", () => {}); // it is never answered
  await page.locator("#question").pressSequentially(words[0].name.slice(0, 4));
  await page.keyboard.press("Enter");
  result.quick = await page.locator(".scope-chips li").allInnerTexts();
  await page.unroute("**/api/documents?*");
  await page.locator(".scope-chips button").click();

  // A document that is named with #.
  await page.locator("#question").pressSequentially(`${words[1].question} #${words[1].name.slice(0, 4)}`);
  await page.waitForFunction(() => document.querySelectorAll(".names li").length === 1);
  result.named = await page.locator(".names li").allInnerTexts();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".scope-chips li");
  result.draft = await page.inputValue("#question");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".answer-foot").length === 3);
  result.byName = await page.locator(".answer .source .title").last().innerText();
  await page.locator(".scope-chips button").click();

  // A question that waits for the answer at work.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/p/ragchat/chat", async (route) => {
    await held;
    await route.continue();
  });
  await page.fill("#question", words[0].question);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".send.stop");
  await page.fill("#question", words[1].question);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".queued");
  result.queued = { text: await page.locator(".queued").innerText(), draft: await page.inputValue("#question"), questions: await page.locator(".bubble").count() };
  release();
  await page.waitForFunction(() => document.querySelectorAll(".answer-foot").length === 5);
  await page.unroute("**/p/ragchat/chat");
  result.asked = await page.locator(".bubble").last().innerText();

  // Another answer of another model; both stay.
  await page.locator(".answer-foot [aria-label=Regenerate]").last().click();
  await page.locator(".menu-list button", { hasText: "Regenerate with" }).first().click();
  await page.waitForSelector(".message.last .versions");
  await page.waitForFunction(() => document.querySelector(".message.last .answer-foot"));
  result.versions = await page.locator(".message.last .versions").innerText();
  result.regenerated = await page.locator(".message.last .answer .markdown").innerText();
  result.stillChosen = await page.locator(".popup-text").last().innerText();
  return { ...result, seen };
}
