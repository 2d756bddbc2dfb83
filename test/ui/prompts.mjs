// Saved prompts: kept over reloads and in all tabs of the browser, put into the question, deleted.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

export default async function ({ base, open, shots }) {
  const { page, seen } = await open({ context: { bypassCSP: true, viewport: { width: 1280, height: 800 } }, path: "/#/" });
  const out = { findings: [] };
  const show = async (page) => {
    await page.locator(".composer-bar .menu button").first().click();
    await page.locator(".menu-list button", { hasText: "Saved prompts" }).click();
    await page.waitForSelector("dialog.prompts form");
  };
  const listed = (page) => page.locator(".prompts .prompt").allInnerTexts();
  const save = async (text) => {
    await page.locator("dialog.prompts textarea").fill(text);
    await page.getByRole("button", { name: "Save prompt" }).click();
    await page.waitForFunction((text) => document.querySelector(".prompts .prompt")?.title === text, text);
  };
  await page.fill("#question", "Answer in a table.");
  await show(page);
  out.statement = await page.locator("dialog.prompts p").first().innerText();
  await save("Answer in a table."); // the draft is offered
  await save("<img src=x onerror=__ran()> in one line");
  for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      if (shots) {
        mkdirSync(shots, { recursive: true });
        await page.waitForTimeout(300); // until the new theme is drawn
        await page.screenshot({ path: `${shots}/prompts-${width}-${colorScheme}.png` });
      }
    }
    if (await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("dialog .dialog-body")].some((e) => e.scrollWidth > e.clientWidth + 1))) out.findings.push(`${width}: too wide`);
  }
  out.findings.push(...(await axe(page)).violations.map((v) => told(v)));
  await page.keyboard.press("Escape");

  const tab = await page.context().newPage();
  await tab.goto(`${base}/#/`);
  await show(tab);
  out.tabs = await listed(tab);

  await page.reload();
  await page.fill("#question", "How tall is it?");
  await show(page);
  out.listed = await listed(page);
  await page.locator(".prompts .prompt", { hasText: "Answer in a table." }).click();
  out.draft = await page.inputValue("#question");
  await show(page);
  await page.getByRole("button", { name: "Delete prompt: <img" }).click();
  await tab.waitForFunction(() => document.querySelectorAll(".prompts .rules li").length === 1);
  out.left = (await listed(page)).length;
  return { ...out, seen };
}
