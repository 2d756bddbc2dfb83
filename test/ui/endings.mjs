// Answers that were stopped, cut off by their limit, refused or doubted: what the page says of each.
import { begin } from "./ask.mjs";

export default async function ({ open, question }) {
  const { page, seen } = await open();
  const over = () => page.waitForFunction(() => document.querySelector(".answer:last-of-type") && !document.querySelector(".answer.at-work"));
  const send = async (word, before = question) => {
    await begin(page);
    await page.fill("#question", `${before} ${word}`);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".answer");
  };
  const asked = async (word, before) => {
    await send(word, before);
    await over();
    return page.evaluate(state);
  };

  await send("stopped");
  await page.waitForFunction(() => document.querySelector(".answer .markdown")?.textContent.includes("More words"));
  await page.locator(".send.stop").click();
  await over();
  await page.waitForSelector(".answer button.chip");
  const stopped = await page.evaluate(state);
  const again = async () => {
    await page.waitForFunction(async () => { // it is stored
      const messages = await (await fetch(`/api/chat-history/${location.hash.split("/")[2]}/messages`)).json();
      return /^(completed|failed|cancelled)$/.test(messages.at(-1)?.parley?.status ?? "");
    });
    await page.reload();
    await page.waitForSelector(".answer-foot");
    return page.evaluate(state);
  };
  const reloaded = await again();

  const broken = await asked("broken");
  const brokenReloaded = await again();

  const length = await asked("length");
  await page.locator(".cut-off button").first().click();
  await page.waitForFunction(() => document.querySelectorAll(".answer-foot").length === 2);
  const continued = await page.locator(".answer .markdown").last().innerText();
  await asked("length");
  await page.locator(".cut-off button").nth(1).click();
  await page.waitForSelector(".answer-foot .versions");
  const limit = await page.evaluate(() => String(JSON.parse(localStorage.getItem("parley.settings")).values.max_output_tokens));

  const refused = await asked("refused");
  const limited = await asked("limited");
  const paraphrase = await asked("paraphrase");
  const number = await asked("number");
  const thanked = await asked("Merci beaucoup !", "");
  const unknown = await asked("walrus", "");
  return { thanked, unknown, stopped, reloaded, broken, brokenReloaded, length, continued, limit, refused, limited, paraphrase, number, seen };
}

function state() {
  const answer = [...document.querySelectorAll(".answer")].at(-1);
  const text = (selector) => answer.querySelector(selector)?.textContent ?? "";
  return {
    text: text(".markdown"), note: text(".note"), failure: text(".failure"), cutOff: text(".cut-off"), doing: text(".doing"),
    loud: text(".doubts:not(.quiet)"), quiet: text(".doubts.quiet"),
    chips: answer.querySelectorAll("button.chip").length, doubtful: answer.querySelectorAll("button.chip.doubtful").length,
  };
}
