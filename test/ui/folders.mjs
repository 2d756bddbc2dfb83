// Folders of conversations: made, filled, closed, renamed and deleted with the keyboard; in all tabs; at all sizes.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

const json = (base) => ({ "Content-Type": "application/json", Origin: base });

async function store(base, question) {
  const { id } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json(base), body: "{}" })).json();
  const messages = [{ messageId: "q", parentId: "", role: "user", content: question }, { messageId: "a", parentId: "q", role: "assistant", content: "Yes." }];
  await fetch(`${base}/api/chat-history/${id}/messages`, { method: "PUT", headers: json(base), body: JSON.stringify({ messages }) });
}

export default async function ({ base, open, shots }) {
  for (const title of ["Dues?", "How high is it?", "Boats?"]) await store(base, title);
  const { page, context, seen } = await open({ context: { bypassCSP: true, viewport: { width: 1280, height: 800 } } });
  const out = { findings: [] };
  const folder = (p, name) => p.locator(`.chats section.folder[aria-label="${name}"]`);
  const titles = (p, name) => folder(p, name).locator("li .chat-title").allTextContents();
  const menu = async (label, item) => {
    await page.waitForSelector("dialog", { state: "detached" }); // a new folder is in the list before its dialog has closed
    await page.locator(`.chats [aria-label="${label}"]`).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".menu-list button:focus");
    for (let n = 0; n < 9 && (await page.evaluate(() => document.activeElement.textContent)) !== item; n++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
  };
  await page.waitForSelector(".chats li a");
  const other = await context.newPage();
  await other.goto(base);
  await other.waitForSelector(".chats li a");

  // A folder without conversations, then one that is made for a conversation, and a second one moved to it.
  await page.getByRole("button", { name: "New folder" }).click();
  await page.waitForSelector("dialog input[type=text]");
  await page.locator("dialog input").fill("<b>Later</b> 2");
  await page.keyboard.press("Enter");
  await folder(page, "<b>Later</b> 2").waitFor();
  out.empty = await folder(page, "<b>Later</b> 2").locator(".none").innerText();
  await menu("Actions for “Dues?”", "Move to folder");
  await page.waitForSelector("dialog input[type=text]");
  await page.locator("dialog input").fill("Harbour");
  await page.keyboard.press("Enter");
  await folder(page, "Harbour").locator("li").waitFor();
  await menu("Actions for “Boats?”", "Move to folder");
  await page.waitForSelector("dialog .rules");
  const shoot = async (name) => {
    for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      const drawer = width < 900 && !(await page.locator("dialog[open]").count());
      if (drawer) await page.locator(".top-bar button").first().click();
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (!shots) continue;
        mkdirSync(shots, { recursive: true });
        await page.waitForTimeout(300); // until the new theme is drawn
        await page.screenshot({ path: `${shots}/folders-${name}-${width}-${colorScheme}.png` });
      }
      if (await page.evaluate(() => [document.documentElement, ...document.querySelectorAll("dialog .dialog-body, .chat-list")].some((e) => e.scrollWidth > e.clientWidth + 1))) out.findings.push(`${name} ${width}: too wide`);
      if (drawer) await page.keyboard.press("Escape");
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    out.findings.push(...(await axe(page)).violations.map((v) => `${name}: ${told(v)}`));
  };
  await shoot("dialog");
  await page.locator("dialog .folder-choice", { hasText: "Harbour" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll('.folder[aria-label="Harbour"] li').length === 2);
  await other.waitForFunction(() => document.querySelectorAll('.folder[aria-label="Harbour"] li').length === 2);
  out.filed = [await titles(page, "Harbour"), await titles(other, "Harbour")];
  out.today = await page.locator('.chats section[aria-label="Today"] .chat-title').allTextContents();

  // What is pinned is first in its folder.
  await menu("Actions for “Dues?”", "Pin");
  await page.waitForFunction(() => document.querySelector('.folder[aria-label="Harbour"] li .chat-title').textContent === "Dues?");
  await page.reload();
  await folder(page, "Harbour").locator("li").first().waitFor();
  out.pinned = await titles(page, "Harbour");
  await shoot("list");

  // Closed, which lasts over a reload; renamed; deleted, and its conversations stay.
  await folder(page, "Harbour").locator("h2 button").click();
  await page.reload();
  await folder(page, "Harbour").waitFor();
  out.closed = await folder(page, "Harbour").locator("li").count();
  await folder(page, "Harbour").locator("h2 button").click();
  await menu("Actions for the folder “Harbour”", "Rename");
  await page.locator(".chats .rename input").fill("Port");
  await page.keyboard.press("Enter");
  await folder(page, "Port").waitFor();
  out.renamed = await titles(page, "Port");
  await menu("Actions for the folder “Port”", "Delete");
  await page.locator("dialog button.danger").click();
  await page.waitForFunction(() => document.querySelectorAll(".chats section.folder").length === 1);
  await other.waitForFunction(() => document.querySelectorAll(".chats section.folder").length === 1);
  out.after = (await page.locator(".chats li .chat-title").allTextContents()).sort();

  // Out of a folder again, from the palette's folder.
  await page.keyboard.press("Control+k");
  await page.locator(".palette input").fill("New folder");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog input[type=text]");
  await page.keyboard.press("Escape");
  await menu("Actions for “Dues?”", "Move to folder");
  await page.locator("dialog .folder-choice").first().click();
  await page.waitForFunction(() => document.querySelectorAll(".folder li").length === 1);
  await menu("Actions for “Dues?”", "Move to folder");
  await page.locator("dialog .folder-choice", { hasText: "No folder" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".folder li").length === 0);

  await page.goto(`${base}/?lang=ar`);
  await page.waitForSelector(".chats section.folder");
  if (shots) await page.screenshot({ path: `${shots}/folders-ar.png` });
  return { ...out, seen };
}
