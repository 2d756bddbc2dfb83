// axe on each view and state in both themes, and screenshots at three sizes for reviewers to look at.
import { mkdirSync } from "node:fs";
import { ask } from "./ask.mjs";
import { axe, told } from "./axe.mjs";

const sizes = { phone: { width: 390, height: 844 }, tablet: { width: 820, height: 1180 }, wide: { width: 1440, height: 900 } };
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export default async function ({ open, question, shots, size }) {
  const viewport = sizes[size];
  const findings = [];
  const views = [];
  let rules = 0; // that were met, so that axe cannot have been idle
  for (const colorScheme of ["light", "dark"]) {
    const { page, seen } = await open({ context: { viewport, colorScheme, bypassCSP: true } }); // axe is a script of ours
    const look = async (name) => {
      await page.waitForTimeout(150);
      if (shots) {
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: `${shots}/${name}-${size}-${colorScheme}.png` });
      }
      const { violations, passes } = await axe(page, { runOnly: { type: "tag", values: tags } });
      rules += passes.length;
      for (const v of violations) {
        if (v.impact === "serious" || v.impact === "critical") findings.push(`${name} ${size} ${colorScheme}: ${told(v)}`);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
      if (wide) findings.push(`${name} ${size} ${colorScheme}: wider than the screen`);
      const small = await page.evaluate(tooSmall);
      for (const s of small) findings.push(`${name} ${size} ${colorScheme}: a target under 24 px: ${s}`);
      views.push(name);
    };
    await look("welcome");
    await ask(page, question);
    await look("answer");
    await page.locator(".answer button.chip").first().focus();
    await page.waitForSelector("#citation-tip");
    await look("tip");
    await page.locator(".answer button.chip").first().click();
    await page.waitForSelector(".panel .box, .panel mark");
    await page.waitForTimeout(600);
    await look("source");
    await page.keyboard.press("Escape");
    await page.locator(".thinking-button").first().click();
    await page.waitForSelector(".passages li");
    await look("thinking");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.waitForSelector(".palette");
    await look("palette");
    await page.keyboard.press("Escape");
    await page.locator(".composer .menu button").first().click();
    await page.locator(".menu-list button", { hasText: "View as API request" }).click();
    await page.waitForSelector("dialog.request");
    await look("request");
    await page.keyboard.press("Escape");
    if (size !== "wide") {
      await page.locator(".top-bar [aria-label='Open the menu']").click();
      await page.waitForSelector(".sidebar.open");
      await page.waitForTimeout(200);
      await look("menu");
      await page.keyboard.press("Escape");
    }
    await page.goto(page.url().replace(/#.*/, "#/documents"));
    await page.waitForSelector(".documents tbody tr");
    await look("documents");
    await page.locator(".documents tbody a").first().click();
    await page.waitForSelector(".chunks li");
    await look("document");
    await page.goto(page.url().replace(/#.*/, "#/documents"));
    await page.fill("main input[type=search]", "nothing is called so");
    await page.waitForSelector(".empty");
    await look("nothing-found");
    await page.goto(page.url().replace(/#.*/, "#/settings"));
    await page.waitForSelector(".setting");
    await look("settings");
    await page.goto(page.url().replace(/#.*/, "#/chat/unknown"));
    await page.waitForSelector(".empty");
    await look("unknown-conversation");
    for (const [name, answer] of Object.entries(failures)) {
      await page.goto(page.url().replace(/#.*/, "#/chat"));
      await page.waitForSelector(".welcome");
      await page.route("**/p/ragchat/chat", (route) => (answer ? route.fulfill(answer) : route.abort()));
      if (!answer) await page.context().setOffline(true);
      await page.fill("#question", question);
      await page.keyboard.press("Enter");
      await page.waitForSelector(answer ? ".failure" : ".connection p");
      await look(`failure-${name}`);
      await page.unroute("**/p/ragchat/chat");
      if (!answer) await page.context().setOffline(false);
      if (!answer) await page.waitForSelector(".answer-foot");
    }
    const empty = { ...(await (await fetch(new URL("/api/ui/config", page.url()))).json()), documents: 0, chunks: 0 };
    await page.route("**/api/ui/config", (route) => route.fulfill({ json: empty }));
    await page.route("**/api/namespaces", (route) => route.fulfill({ json: [{ name: empty.namespace, documents: 0, chunks: 0, default: true }] }));
    await page.reload();
    await page.goto(page.url().replace(/#.*/, "#/chat"));
    await page.waitForSelector(".empty");
    await look("no-documents");
    if (size === "phone") await newcomers(page, look, empty); // where there is least room
    if (seen.dialogs.length + seen.foreign.length > 0) findings.push(`${size}: ${seen.dialogs} ${seen.foreign}`);
    await page.context().close();
  }
  return { findings, views: [...new Set(views)], rules };
}

/** What is shown where the server's namespace holds nothing, and while documents are being read. */
async function newcomers(page, look, empty) {
  const elsewhere = [{ name: empty.namespace, documents: 0, chunks: 0, default: true }, { name: "hr", documents: 2, chunks: 9, default: false }];
  await page.unroute("**/api/namespaces");
  await page.route("**/api/namespaces", (route) => route.fulfill({ json: elsewhere }));
  await page.reload();
  await page.waitForSelector(".empty .namespace option[value=hr]", { state: "attached" });
  await look("documents-elsewhere");
  await page.selectOption(".empty .namespace select", "hr");
  await page.waitForSelector(".welcome"); // there is something to ask now
  let done = 12;
  const reading = () => ({
    ...empty, documents: 3, chunks: 9, ingestion: { ...empty.ingestion, running: done < 40, files: 40, done },
    problems: done < 40 ? [{ code: "ingesting", severity: "info", message: `The documents are being read: ${done} of 40 so far.` }] : [],
  });
  await page.unroute("**/api/ui/config");
  await page.route("**/api/ui/config", (route) => route.fulfill({ json: reading() }));
  await page.reload();
  await page.waitForSelector(".problems progress[value='12'][max='40']");
  await look("reading");
  done = 39;
  await page.waitForSelector(".problems progress[value='39']"); // the page asks by itself
  done = 40;
  await page.waitForSelector(".problems", { state: "detached" });
}

const failures = {
  provider: { status: 500, json: { detail: "The app encountered an error processing your request." } },
  key: { status: 400, json: { detail: "The model openai:gpt-x is not configured: its provider has no key." } },
  budget: { status: 429, headers: { "Retry-After": "3600" }, json: { detail: "The budget of this day is used up." } },
  offline: null,
};

/** Controls that are smaller than 24 px and no links in a text (WCAG 2.2, 2.5.8). */
function tooSmall() {
  return [...document.querySelectorAll("button, select, input:not([type=file]), summary, nav a")]
    .map((el) => [el, el.getBoundingClientRect()])
    .filter(([el, r]) => r.width > 1 && r.height > 1 && (r.width < 23.5 || r.height < 23.5) && !el.classList.contains("offscreen"))
    .map(([el, r]) => `${el.className || el.localName} ${Math.round(r.width)}×${Math.round(r.height)}`);
}
