// An administrator says who may see a document and a folder, and who the members of the collection are.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

export default async function ({ base, open, admin, owner, reader, readerID, shots }) {
  const out = { findings: [] };
  const { page, seen } = await open({ context: { extraHTTPHeaders: { Authorization: `Bearer ${admin}` }, bypassCSP: true, viewport: { width: 1280, height: 800 } }, path: "/#/documents" });
  const sees = async (key) => (await (await fetch(`${base}/api/documents`, { headers: { Authorization: `Bearer ${key}` } })).json()).documents?.map((d) => d.title).sort().join(",") ?? "none";
  const look = async (name) => {
    for (const [width, height] of [[390, 844], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: `${shots}/rights-${name}-${width}-${colorScheme}.png` });
        }
      }
      if (await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("dialog .dialog-body")].some((e) => e.scrollWidth > e.clientWidth + 1))) out.findings.push(`${name} ${width}: too wide`);
    }
    const { violations } = await axe(page);
    out.findings.push(...violations.map((v) => `${name}: ${told(v)}`));
  };
  const menu = async (button, item) => {
    await button.click();
    await page.locator(".menu-list button", { hasText: item }).click();
    await page.waitForSelector("dialog form");
  };
  const save = async (name) => {
    await page.getByRole("button", { name, exact: true }).click();
  };

  // One document, for a person.
  const row = page.locator("table.documents tbody tr", { hasText: "Wages" });
  await menu(row.locator(".menu button"), "Who can see it");
  out.from = await page.locator("dialog .soft-note").innerText();
  await page.getByLabel("Only these people and groups").check();
  out.nobody = await page.getByRole("button", { name: "Save", exact: true }).isDisabled();
  await page.getByLabel("People, one per line").fill(`key:${readerID}\n<img src=x onerror=__ran()>`);
  await save("Save");
  await page.getByRole("button", { name: "Remove this setting" }).waitFor();
  await page.getByText("Saved", { exact: true }).waitFor(); // it stays when the form shows the new state
  await look("document");
  out.document = [await sees(owner), await sees(reader)];
  await page.getByRole("button", { name: "Remove this setting" }).click();
  await page.getByRole("button", { name: "Remove this setting" }).waitFor({ state: "detached" });
  out.reset = await sees(owner);
  await page.keyboard.press("Escape");

  // A folder.
  await menu(page.locator(".view-head .menu button"), "Folder access");
  await page.getByLabel("Folder (/ is the whole collection)").fill("wages");
  await page.getByLabel("Only these people and groups").check();
  await page.getByLabel("Groups, one per line").fill("CN=keepers,DC=skagen");
  await save("Save");
  await page.waitForSelector(".rules li");
  await page.getByText("Saved", { exact: true }).waitFor();
  await look("folders");
  out.folder = [await page.locator(".rules li").innerText(), await sees(reader)];
  await page.getByRole("button", { name: "Remove wages" }).click();
  await page.waitForSelector(".rules li", { state: "detached" });
  out.without = await sees(reader);
  await page.getByLabel("Folder (/ is the whole collection)").fill("../etc");
  await page.getByLabel("Everyone", { exact: true }).check();
  await save("Save");
  await page.waitForFunction(() => document.querySelector("dialog [role=alert]")?.innerText);
  out.refused = await page.locator("dialog [role=alert]").innerText();
  await page.keyboard.press("Escape");

  // The members.
  await menu(page.locator(".view-head .menu button"), "Members");
  await page.getByLabel("Name, as used at sign-in").fill(`key:${readerID}`);
  await save("Add member");
  await page.waitForSelector(".rules li");
  await look("members");
  out.members = [await sees(owner), await sees(reader)];
  await page.locator(".rules select").selectOption("owner");
  await page.keyboard.press("Escape");

  const other = await open({ context: { extraHTTPHeaders: { Authorization: `Bearer ${owner}` } }, path: "/#/documents" });
  out.others = 0;
  if (await other.page.locator(".view-head .menu button").count()) {
    await other.page.locator(".view-head .menu button").click();
    out.others = await other.page.locator(".menu-list button", { hasText: /Members|Folder/ }).count();
  }
  return { ...out, seen };
}
