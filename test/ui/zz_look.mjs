import { chromium } from "playwright-core";
import { ask } from "./ask.mjs";
const base = process.argv[2]; const out = process.argv[3];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox","--disable-gpu","--disable-dev-shm-usage"] });
for (const [w,h] of [[390,844],[1280,800],[1920,1080]]) {
  const page = await (await browser.newContext({ viewport: { width: w, height: h }, reducedMotion: "reduce" })).newPage();
  const shot = (n) => page.screenshot({ path: `${out}/${n}-${w}.png` });
  await page.goto(base); await page.waitForSelector("#question"); await page.waitForTimeout(500);
  await shot("start");
  await ask(page, "What does the Northwind Standard plan cover for emergency services?");
  await shot("answer");
  if (await page.locator(".answer button.chip").count()) {
    await page.locator(".answer button.chip").first().click();
    await page.waitForTimeout(1500); await shot("source");
    await page.keyboard.press("Escape"); await page.waitForTimeout(300); await shot("closed");
  }
  await page.goto(base + "/#/documents"); await page.waitForTimeout(500); await shot("documents");
  await page.goto(base + "/#/settings"); await page.waitForTimeout(500); await shot("settings");
  await page.context().close();
}
await browser.close();
