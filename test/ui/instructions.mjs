// The instructions of a collection: an administrator writes them, the model gets them, and a reader reads them.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

export default async function ({ base, open, admin, reader, text, shots }) {
  const out = { findings: [] };
  const as = (key, more = {}) => ({ extraHTTPHeaders: { Authorization: `Bearer ${key}` }, bypassCSP: true, viewport: { width: 1280, height: 800 }, ...more });
  const { page, seen } = await open({ context: as(admin), path: "/#/documents" });
  const look = async (page, name) => {
    for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.waitForTimeout(300); // until the new theme is drawn
          await page.screenshot({ path: `${shots}/instructions-${name}-${width}-${colorScheme}.png` });
        }
      }
      if (await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("dialog .dialog-body")].some((e) => e.scrollWidth > e.clientWidth + 1))) out.findings.push(`${name} ${width}: too wide`);
    }
    out.findings.push(...(await axe(page)).violations.map((v) => `${name}: ${told(v)}`));
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  const show = async (page, item = "Instructions") => {
    await page.locator(".view-head .menu button").click();
    await page.locator(".menu-list button", { hasText: item }).click();
    await page.waitForSelector("dialog .dialog-body p");
  };
  const save = async (text) => {
    await show(page);
    const field = page.locator("dialog textarea");
    await field.fill(text);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    return (await (await fetch(`${base}/api/namespaces/default/instructions`, { headers: { Authorization: `Bearer ${reader}` } })).json()).text;
  };
  const ask = async () => {
    await page.goto(`${base}/#/`);
    await page.fill("#question", "How tall is the lighthouse of Skagen?");
    await page.keyboard.press("Enter");
    await page.getByText("46 metres tall").first().waitFor();
    const said = await page.locator("article.answer, .answer").last().innerText();
    await page.waitForSelector(".send.stop", { state: "detached" });
    await page.goto(`${base}/#/documents`);
    return said;
  };
  out.saved = await save(text);
  await look(page, "owner");
  await page.keyboard.press("Escape");
  out.answer = await ask();

  const other = await open({ context: as(reader), path: "/#/documents" });
  await show(other.page);
  out.read = await other.page.locator("dialog blockquote").innerText();
  out.fields = await other.page.locator("dialog textarea").count();
  await look(other.page, "reader");

  const arabic = await open({ context: as(reader, { locale: "ar", viewport: { width: 390, height: 844 } }), path: "/#/documents" });
  await show(arabic.page, "تعليمات");
  if (shots) await arabic.page.screenshot({ path: `${shots}/instructions-390-ar.png` });
  out.arabic = await arabic.page.evaluate(() => [document.documentElement.dir, document.documentElement.scrollWidth > innerWidth + 1, document.querySelector("dialog h2").innerText]);

  out.removed = await save("");
  await page.keyboard.press("Escape");
  await ask();
  return { ...out, seen };
}
