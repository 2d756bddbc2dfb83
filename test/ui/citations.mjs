// Ask, stream, click each citation: where the cited words are marked on the page that is shown.
import { answerText, ask, begin } from "./ask.mjs";

export default async function ({ open, questions }) {
  const { page, seen } = await open();
  const found = [];
  for (const question of questions) {
    await begin(page);
    await page.waitForSelector(".answer-foot", { state: "detached" }); // ask counts them
    await ask(page, question);
    const chip = page.locator(".answer button.chip").first();
    await chip.focus();
    await page.waitForSelector("#citation-tip");
    const tip = await page.locator("#citation-tip").innerText();
    await chip.click();
    await page.waitForSelector(".panel .box, .panel .page-words mark");
    await page.waitForFunction(() => [...document.querySelectorAll(".panel img")].every((i) => i.complete && i.naturalWidth > 0));
    found.push({ question, tip, answer: await answerText(page), ...(await page.evaluate(shown)) });
    await page.keyboard.press("Escape");
    await page.waitForSelector(".panel", { state: "detached" });
    found.at(-1).focus = await page.evaluate(() => document.activeElement?.className ?? "");
  }
  return { found, seen };
}

function shown() {
  const picture = document.querySelector(".panel .page-picture");
  const at = picture?.getBoundingClientRect();
  const visible = (r) => r.top >= 0 && r.bottom <= innerHeight && r.width > 0;
  return {
    title: document.querySelector(".panel-head h2")?.textContent,
    page: Number(document.querySelector(".pager input")?.value ?? 0),
    original: document.querySelector(".panel-head a")?.getAttribute("href"),
    marks: [...document.querySelectorAll(".panel .page-words:not(details *) mark")].map((m) => m.textContent),
    marksVisible: [...document.querySelectorAll(".panel .page-words:not(details *) mark")].some((m) => visible(m.getBoundingClientRect())),
    text: document.querySelector(".panel .page-words")?.textContent ?? "",
    boxes: [...document.querySelectorAll(".panel .box")].map((b) => {
      const r = b.getBoundingClientRect();
      return { x: (r.left - at.left) / at.width, y: (r.top - at.top) / at.height, width: r.width / at.width, height: r.height / at.height, visible: visible(r) };
    }),
  };
}
