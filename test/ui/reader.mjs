// The reader: marks one by one, zoom, rotation, the whole page, thumbnails, search, and links to a page.

import { begin } from "./ask.mjs";

export default async function ({ base, open, asked, deep }) {
  const result = {};
  const { page, context, seen } = await open({ context: { viewport: { width: 1280, height: 620 } } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
  const frame = () => page.evaluate(() => {
    const box = document.querySelector(".page-frame").getBoundingClientRect();
    const body = document.querySelector(".panel-body").getBoundingClientRect();
    const picture = document.querySelector(".page-picture").getBoundingClientRect();
    const round = (r) => ({ width: Math.round(r.width), height: Math.round(r.height) });
    return { frame: round(box), body: round(body), picture: round(picture) };
  });
  const settled = (test) => page.waitForFunction(test);
  const press = (name) => page.locator(`.pager [aria-label="${name}"]`).click();

  // A link to a page that is not there opens the nearest one. Pages without text are there.
  const documents = (await (await fetch(`${base}/api/documents`)).json()).documents;
  const idOf = (name) => documents.find((d) => d.name === name).id;
  await page.goto(`${base}/#/documents/${idOf(deep.unpaged)}/1`);
  await page.waitForSelector(".panel-body p");
  result.unpaged = await page.locator(".panel-body").innerText();
  result.opened = [];
  for (const n of [3, 9, 0]) {
    await page.goto(`${base}/#/documents`);
    await page.waitForSelector(".panel", { state: "detached" });
    await page.goto(`${base}/#/documents/${idOf(deep.gappy)}/${n}`);
    await page.waitForSelector(".page-picture img");
    result.opened.push(await page.inputValue(".pager input"));
  }

  // A picture that is still being drawn is waited for in sight.
  const id = idOf(deep.name);
  let draw;
  const drawn = new Promise((resolve) => (draw = resolve));
  await page.route("**/pages/*/image*", async (route) => {
    await drawn;
    await route.continue();
  });
  await page.goto(`${base}/#/documents`);
  await page.waitForSelector(".panel", { state: "detached" });
  await page.goto(`${base}/#/documents/${id}/1`);
  await page.waitForSelector(".page-picture .spinner");
  result.early = await page.locator(".page-picture img").isVisible();
  draw();
  await page.waitForSelector(".page-picture img");
  result.spinners = await page.locator(".page-picture .spinner").count();
  await page.unroute("**/pages/*/image*");

  // A link to a page opens it.
  await page.goto(`${base}/#/documents/${id}/${deep.page}`);
  await page.waitForSelector(".page-picture img");
  await page.waitForFunction(() => document.querySelector(".page-picture img").complete);
  result.at = await page.inputValue(".pager input");
  await page.locator(".panel-head [aria-label='Copy a link to this page']").click();
  await page.waitForSelector(".panel-head [aria-label=Copied]");
  result.link = await page.evaluate(() => navigator.clipboard.readText());
  result.wanted = page.url();

  result.fit = await frame();
  await press("Larger");
  await press("Larger");
  await settled(() => document.querySelector(".zoom").textContent.startsWith("150"));
  result.large = await frame();
  await press("Fit the whole page");
  await page.waitForSelector(".page-frame.whole");
  const bounds = (sel) => page.locator(sel).boundingBox();
  for (let i = 0; i < 300 && (await bounds(".page-frame")).height > (await bounds(".panel-body")).height; i++) await page.waitForTimeout(100);
  result.whole = await frame();
  await press("Fit the width");
  await press("Rotate");
  await settled(() => { const r = document.querySelector(".page-frame").getBoundingClientRect(); return r.width > r.height; });
  result.turned = await frame();

  await press("All pages");
  await page.waitForSelector(".thumbnails button");
  result.thumbnails = await page.locator(".thumbnails button").count();
  await page.locator(".thumbnails button").first().click();
  await page.waitForFunction(() => document.querySelector(".pager input").value === "1");
  await page.waitForSelector(".page-picture img");

  // Words are found on whatever page they are, and marked there.
  await press("Find in this document");
  await page.fill(".find input", deep.words.toUpperCase());
  await page.waitForSelector(".panel .box");
  result.foundAt = await page.inputValue(".pager input");
  result.said = await page.locator(".find output").innerText();
  await page.locator(".thumbnails button").first().click(); // away from the only page that has the words, and back
  await page.locator(".find [aria-label='Next page with these words']").click();
  await settled(() => document.querySelector(".pager input").value === "3");
  await page.fill(".find input", "no such words here");
  await page.waitForFunction(() => document.querySelector(".find output").textContent === "Not found");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".panel", { state: "detached" });

  // The marks of a source, one after the other.
  await page.goto(`${base}/#/chat`);
  await page.fill("#question", asked);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".answer-foot");
  await page.locator(".source").first().click();
  await page.waitForSelector(".marks output");
  result.marks = [await page.locator(".marks output").innerText()];
  for (let i = 0; i < 3; i++) {
    await page.locator(".marks [aria-label='Next mark']").click();
    await page.waitForFunction((before) => document.querySelector(".marks output").textContent !== before, result.marks.at(-1));
    result.marks.push(await page.locator(".marks output").innerText());
  }
  await page.keyboard.press("Escape");
  await page.waitForSelector(".panel", { state: "detached" });

  // A source that is opened before the turn has ended: it says nothing of marks until they are known.
  await begin(page);
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/\/turns\/[^/]+$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.fill("#question", asked);
  await page.keyboard.press("Enter");
  await page.locator(".answer button.chip").nth(1).click();
  await page.waitForSelector(".panel-body p");
  result.unmarked = { marks: await page.locator(".panel mark").count(), notes: await page.locator(".panel .soft-note").allInnerTexts() };
  release();
  await page.waitForSelector(".marks output");
  result.marked = { marks: await page.locator(".panel mark").allInnerTexts(), at: await page.locator(".marks output").innerText() };
  return { ...result, seen };
}
