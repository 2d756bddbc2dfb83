// A remote source that waits for its first run: the page says what that would read, and one can leave it.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

export default async function ({ open, shots }) {
  const { page, seen } = await open({ context: { viewport: { width: 1280, height: 900 }, bypassCSP: true }, path: "/#/documents" });
  const out = { findings: [] };
  const line = page.locator(".sources-list li.job");
  const dialog = page.getByRole("dialog", { name: "Read for the first time" });
  const words = async (of) => (await of.innerText()).split(/\s+/).join(" ");
  const ask = async () => {
    await line.getByRole("button", { name: "Read now" }).click();
    await dialog.getByText("Reading may take").waitFor();
  };
  await page.waitForSelector(".sources-list li[data-state=paused]");
  out.never = await words(line);
  await ask();
  out.estimate = await words(dialog);
  for (const [width, height] of [[390, 844], [1280, 900]]) {
    await page.setViewportSize({ width, height });
    if (shots) {
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: `${shots}/firstrun-${width}.png` });
    }
  }
  out.findings.push(...(await axe(page)).violations.map(told));
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  out.cancelled = await words(line);
  await ask();
  await dialog.getByRole("button", { name: "Read now" }).click();
  await page.waitForFunction(() => /1 new/.test(document.querySelector(".sources-list li")?.innerText ?? ""));
  return { ...out, seen };
}
