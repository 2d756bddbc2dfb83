// The page in each of its languages: which file it loads, and whether every text has room where it stands.
import { mkdirSync } from "node:fs";
import { ask } from "./ask.mjs";

const locales = { en: "en-GB", de: "de-DE", fr: "fr-CA", es: "es-MX", zh: "zh-Hans-CN", ar: "ar-EG" };
const sizes = { 390: 844, 1280: 800, 1920: 1080 };

export default async function ({ open, base, question, shots, only, widths = [390, 1280] }) {
  const findings = [];
  const seen = {};
  for (const [language, locale] of Object.entries(locales)) {
    if (only && !only.includes(language)) continue;
    const loaded = new Set();
    const colorScheme = language === "ar" || language === "fr" ? "dark" : "light";
    const { page, seen: noted } = await open({ context: { viewport: { width: widths[0], height: sizes[widths[0]] }, locale, colorScheme } });
    page.on("request", (r) => /\/assets\/[a-z]{2}-\w+\.js$/.test(r.url()) && loaded.add(r.url().replace(/.*\/(..)-.*/, "$1")));
    await page.reload();
    await page.waitForSelector(".welcome");
    const root = await page.evaluate(() => ({ lang: document.documentElement.lang, dir: document.documentElement.dir }));
    const look = async (name) => {
      for (const width of widths) {
        await page.setViewportSize({ width, height: sizes[width] });
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: `${shots}/${language}-${name}-${width}.png` });
        }
        for (const found of await page.evaluate(overflowing)) findings.push(`${language} ${name} ${width}: ${found}`);
      }
    };
    await look("welcome");
    await ask(page, question);
    await look("answer");
    await page.locator(".answer button.chip").first().click();
    await page.waitForSelector(".panel .box, .panel mark");
    await look("source");
    await page.keyboard.press("Escape");
    await page.locator(".thinking-button").first().click();
    await page.waitForSelector(".passages li");
    await look("thinking");
    await page.keyboard.press("Escape");
    await page.locator(".composer .menu button").first().click();
    await page.waitForSelector(".menu-list");
    await look("menu");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.waitForSelector(".palette");
    await look("palette");
    await page.keyboard.press("Escape");
    await page.goto(`${base}/#/documents`);
    await page.waitForSelector(".documents tbody tr");
    await look("documents");
    await page.locator(".filter .popup-button").click();
    await page.waitForSelector(".filter .popup-box :is(select, .soft-note)");
    await look("filter");
    await page.keyboard.press("Escape");
    await page.goto(`${base}/#/evaluation`);
    await page.locator(".evaluation input[type=file]").setInputFiles({ name: "q.txt", mimeType: "text/plain", buffer: Buffer.from(question) });
    await page.waitForSelector(".eval-cases tbody tr");
    await look("evaluation");
    await page.goto(`${base}/#/settings`);
    await page.waitForSelector(".setting");
    for (const tab of ["general", "answers", "search", "developer"]) {
      await page.locator(`#settings-${tab}`).click();
      await page.waitForSelector(`#settings-${tab}[aria-selected=true]`);
      await look(`settings-${tab}`);
    }
    seen[language] = { ...root, loaded: [...loaded], errors: [...noted.errors, ...noted.foreign] };
    await page.context().close();
  }
  return { findings, seen, chosen: await choosing(open, base) };
}

/** Chooses a language in the settings, which holds after a reload, and the browser's again. */
async function choosing(open, base) {
  const { page } = await open({ context: { locale: "en-US" }, path: "/#/settings" });
  const title = () => page.locator("main h1").innerText();
  const titles = [await title()];
  for (const language of ["de", "ar", ""]) {
    await page.waitForSelector("#language");
    await Promise.all([page.waitForEvent("load"), page.selectOption("#language", language)]);
    await page.waitForSelector("main h1");
    titles.push(await title());
  }
  await page.context().close();
  return titles;
}

/** Texts that reach out of what clips them, of their button, or of the screen. */
function overflowing() {
  const found = [];
  const cut = (el) => {
    for (let at = el; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.textOverflow === "ellipsis" || /auto|scroll/.test(style.overflowX)) return null; // cut on purpose, or can be scrolled
      if (/hidden|clip/.test(style.overflowX) || at.tagName === "BUTTON") return at;
    }
    return document.documentElement;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const el = node.parentElement;
    if (!node.data.trim() || !el.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (el.closest(".offscreen, .skip, option, [inert]")) continue;
    const clip = cut(el);
    if (!clip) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    const box = clip === document.documentElement ? { left: 0, right: innerWidth } : clip.getBoundingClientRect();
    if (text.width > 0 && (text.left < box.left - 1 || text.right > box.right + 1)) found.push(`“${node.data.trim().slice(0, 60)}” in ${el.tagName}.${el.className}`);
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const field of document.querySelectorAll("input[placeholder]")) {
    const style = getComputedStyle(field);
    pen.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (field.checkVisibility({ visibilityProperty: true }) && pen.measureText(field.placeholder).width > room + 1) found.push(`placeholder “${field.placeholder}”`);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push("the page is wider than the screen");
  return found;
}
