// An answer that is computed from a table: the cells are marked with which it computes.
import { ask } from "./ask.mjs";

export default async function ({ open, questions }) {
  const { page, seen } = await open();
  const found = [];
  for (const question of questions) {
    await ask(page, question);
    await page.locator(".answer").last().locator("button.chip").first().click();
    await page.waitForSelector(".panel .page-words mark");
    found.push({ marks: await page.locator(".panel mark").allInnerTexts(), note: (await page.locator(".panel .soft-note").allInnerTexts()).join(" ") });
    await page.keyboard.press("Escape");
    await page.waitForSelector(".panel", { state: "detached" });
  }
  return { found, seen };
}
