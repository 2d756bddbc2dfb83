// Saved prompts: kept on the server, so in every browser; taken over from browsers that kept them; put into the question, changed, deleted.
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

  // Another browser, which has kept a prompt itself.
  const other = await open({ path: "/#/" });
  await other.page.evaluate(() => localStorage.setItem("parley.prompts", JSON.stringify(["Answer in a table.", "From the browser.", 7])));
  await show(other.page);
  await other.page.waitForSelector(".prompts .prompt");
  out.before = await listed(other.page); // whoever uses the server would see what is moved
  await other.page.getByRole("button", { name: "Move this browser" }).click();
  await other.page.waitForFunction(() => document.querySelectorAll(".prompts .rules li").length === 3);
  out.browsers = await listed(other.page);
  out.stillInBrowser = await other.page.evaluate(() => localStorage.getItem("parley.prompts"));
  await other.page.getByRole("button", { name: "Edit prompt: From the browser." }).click();
  await other.page.locator("dialog.prompts textarea").fill("From another browser.");
  await other.page.getByRole("button", { name: "Save changes" }).click();
  await other.page.waitForFunction(() => document.querySelector(".prompts .prompt")?.title === "From another browser.");

  await page.reload();
  await page.fill("#question", "How tall is it?");
  await show(page);
  await page.waitForSelector(".prompts .prompt");
  out.listed = await listed(page);
  await page.locator(".prompts .prompt", { hasText: "Answer in a table." }).click();
  out.draft = await page.inputValue("#question");
  await show(page);
  await page.getByRole("button", { name: "Delete prompt: <img" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".prompts .rules li").length === 2);
  for (let n = 0; n < 8; n++) await save(`Prompt ${n}`);
  await page.locator("dialog.prompts input[type=search]").fill("prompt 7");
  await page.waitForFunction(() => document.querySelectorAll(".prompts .rules li").length === 1);
  out.found = await listed(page);

  // A browser whose prompts the server cannot take shows those that are there.
  const last = await open({ path: "/#/" });
  await last.page.evaluate(() => localStorage.setItem("parley.prompts", JSON.stringify(["Mine."])));
  await last.page.route("**/api/prompts", (r) => (r.request().method() === "POST" ? r.fulfill({ status: 409, json: { error: "full" } }) : r.continue()));
  await show(last.page);
  await last.page.waitForSelector(".prompts .prompt");
  await last.page.getByRole("button", { name: "Move this browser" }).click();
  await last.page.waitForFunction(() => document.querySelector("dialog.prompts [role=alert]").textContent);
  out.full = await last.page.locator("dialog.prompts [role=alert]").innerText();
  out.stillListed = (await listed(last.page)).length;
  seen.errors.push(...other.seen.errors);
  return { ...out, seen };
}
