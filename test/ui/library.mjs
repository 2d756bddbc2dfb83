// Collections are made, filled and emptied; several documents are deleted and read again at once.
import { mkdirSync } from "node:fs";
import { ask } from "./ask.mjs";

const names = (page) => page.locator(".documents tbody th small").allInnerTexts();

export default async function ({ open, base, shots }) {
  const { page, seen } = await open({ context: { viewport: { width: 1280, height: 800 } }, path: "/#/documents" });
  const out = {};
  const shot = async (name) => {
    if (!shots) return;
    mkdirSync(shots, { recursive: true });
    for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${shots}/library-${name}-${width}-${colorScheme}.png` });
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  const menu = async (item) => {
    await page.getByRole("button", { name: "Actions for this collection" }).click();
    await page.getByRole("menuitem", { name: item }).click();
    await page.waitForSelector("dialog[open]");
  };
  const create = async (name) => {
    await page.locator("dialog input").fill(name);
    await page.getByRole("button", { name: "Create", exact: true }).click();
  };
  await page.waitForSelector(".documents tbody tr");

  await page.locator(".documents tbody th a").first().click();
  await page.waitForSelector(".attributes");
  out.attributes = (await page.locator(".attributes div").allInnerTexts()).map((row) => row.split(/\s+/).join(" "));
  await page.goto(`${base}/#/documents`);
  await page.waitForSelector(".documents tbody tr");

  await menu("New collection");
  await create("default");
  out.taken = await page.locator("dialog [role=alert]").innerText();
  await shot("create");
  await create(`Lighthouses <img src=x onerror=__ran()> ${"x".repeat(20)}`);
  await page.waitForSelector(".empty");
  out.begun = await page.locator(".view-head select option").allInnerTexts();
  await page.reload();
  await page.waitForSelector(".empty");
  out.kept = await page.locator(".view-head select option:checked").innerText();
  await page.setInputFiles("input[type=file]", ["a", "b", "c"].map((n) => ({ name: `${n}.md`, mimeType: "text/markdown", buffer: Buffer.from(`# ${n}\n\nThe lighthouse ${n} is ${n.length} high.\n`) })));
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 3);
  out.filled = await names(page);

  // An answer without citations shows the passages of its collection.
  await page.route("**/api/turns/*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), citations: [] } });
  });
  await page.goto(`${base}/#/`);
  for (const again of [false, true]) {
    if (again) await page.reload();
    else await ask(page, "How high is the lighthouse b?");
    await page.locator(".thinking-button").click();
    await page.locator(".passages summary").first().click();
    await page.getByRole("button", { name: "Show the page" }).first().click();
    await page.locator(".panel-body p", { hasText: "The lighthouse" }).waitFor();
    await page.keyboard.press("Escape");
  }
  await page.unroute("**/api/turns/*");
  await page.goto(`${base}/#/documents`);
  await page.waitForSelector(".documents tbody tr");

  await page.getByRole("checkbox", { name: "Select “a”" }).check();
  await page.getByRole("checkbox", { name: "Select “b”" }).check();
  out.selected = await page.locator(".bulk > span").innerText();
  await shot("selected");
  await page.locator(".bulk").getByRole("button", { name: "Read again" }).click();
  await page.waitForFunction(() => /read again/.test(document.querySelector(".toast")?.innerText ?? ""));
  out.reread = await page.locator(".toast span").innerText();
  await page.waitForSelector(".bulk", { state: "detached" });
  await page.getByRole("checkbox", { name: "Select all shown documents" }).check();
  await page.getByRole("checkbox", { name: "Select “c”" }).uncheck();
  await page.locator(".bulk").getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 1);
  out.left = await names(page);

  // One of them cannot be deleted: the others are, and it stays ticked.
  await page.route("**/api/documents/**", (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 403, json: { error: "You may not delete this." } }) : route.continue()));
  await page.getByRole("checkbox", { name: "Select “c”" }).check();
  await page.locator(".bulk").getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForSelector(".toast.bad");
  out.refused = await page.locator(".toast.bad > span").innerText();
  out.stillTicked = await page.locator(".bulk > span").innerText();
  await page.unroute("**/api/documents/**");

  await menu("Empty this collection");
  await page.locator("dialog p", { hasText: "1 document will be deleted" }).waitFor();
  out.warning = await page.locator("dialog p").first().innerText();
  await page.locator("dialog").getByRole("button", { name: "Empty this collection" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 0 || !document.querySelector(".view-head select")?.selectedOptions[0]?.text.startsWith("Lighthouses"));
  out.others = (await (await fetch(`${base}/api/documents`)).json()).total;
  return { ...out, seen };
}
