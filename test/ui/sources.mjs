// Remote sources on the page: their state, reading one now, pausing it, and what it says when it fails.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { axe, told } from "./axe.mjs";

export default async function ({ open, shots, folder, down }) {
  const { page, seen } = await open({ context: { viewport: { width: 1280, height: 900 }, bypassCSP: true }, path: "/#/documents" });
  const out = { findings: [] };
  const look = async (name) => {
    for (const [width, height] of [[390, 844], [1280, 900], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: `${shots}/sources-${name}-${width}-${colorScheme}.png` });
        }
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)) out.findings.push(`${name} ${width}: wider than the screen`);
    }
    out.findings.push(...(await axe(page)).violations.map((v) => `${name}: ${told(v)}`));
    await page.setViewportSize({ width: 1280, height: 900 });
  };
  const line = page.locator(".sources-list li.job");
  const state = (name) => page.waitForSelector(`.sources-list li[data-state=${name}]`);
  const documents = () => page.locator(".documents tbody th small").allInnerTexts();
  await state("ok");
  out.address = await line.locator(".job-name").innerText();
  out.first = (await line.innerText()).split(/\s+/).join(" ");
  await look("partly");

  writeFileSync(`${folder}/later.md`, "# Later\n\nThe lighthouse of Hirtshals is 35 metres tall.\n");
  await line.getByRole("button", { name: "Read now" }).click();
  await page.waitForFunction(() => /1 new.*unchanged/s.test(document.querySelector(".sources-list li[data-state=ok]")?.innerText ?? ""));
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 2);
  out.documents = await documents();

  await line.getByRole("button", { name: "Pause" }).click();
  await state("paused");
  out.paused = await line.locator(".badge").innerText();
  await line.getByRole("button", { name: "Resume" }).click();
  await state("ok");

  writeFileSync(down, "");
  await line.getByRole("button", { name: "Read now" }).click();
  await state("failing");
  out.failing = (await line.innerText()).split(/\s+/).join(" ");
  out.kept = (await documents()).length;
  await look("failing");
  rmSync(down);

  const arabic = await open({ context: { locale: "ar", viewport: { width: 390, height: 844 } }, path: "/#/documents" });
  await arabic.page.waitForSelector(".sources-list li");
  if (shots) await arabic.page.screenshot({ path: `${shots}/sources-390-ar.png` });
  out.arabic = await arabic.page.evaluate(() => [document.documentElement.dir, document.documentElement.scrollWidth > innerWidth + 1, document.querySelector(".sources-list .badge").innerText]);
  return { ...out, seen };
}
