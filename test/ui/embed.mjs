// The chat on pages of other origins: one that may show it, with a strict policy of its own, and one that may not.
import { axe, told } from "./axe.mjs";
import { vectors } from "./vectors.mjs";

export default async function ({ browser, base, listed, other, question, shots, patience = 60_000 }) {
  const report = { findings: [], rules: 0, errors: [], dialogs: 0, foreign: [], loaded: [] };
  const open = async (url, given = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...given });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const said = [];
    page.on("console", (m) => m.type() === "error" && said.push(m.text()));
    page.on("pageerror", (e) => report.errors.push(String(e)));
    page.on("dialog", (d) => (report.dialogs++, d.dismiss().catch(() => {})));
    page.on("request", (r) => !new RegExp(`^(${base}|${listed}|${other}|data:|blob:)`).test(r.url()) && report.foreign.push(r.url()));
    await page.goto(url);
    return { context, page, said };
  };
  const shot = async (page, name) => shots && (await page.screenshot({ path: `${shots}/embed-${name}.png` }));
  const chatOf = (page) => page.frameLocator("parley-chat iframe");
  const ask = async (chat, text) => {
    const before = await chat.locator(".answer[aria-busy=false]").count();
    await chat.locator("#question").fill(text);
    await chat.locator("#question").press("Enter");
    await chat.locator(".answer[aria-busy=false]").nth(before).waitFor();
  };

  // One tag.
  {
    const { context, page, said } = await open(listed);
    const requests = [];
    page.on("request", (r) => r.url().startsWith(base) && requests.push(r));
    const button = page.locator("button[aria-expanded]");
    await button.waitFor();
    await shot(page, "closed");
    report.framesAtFirst = page.frames().length;
    await button.click();
    const chat = chatOf(page);
    await chat.locator("h1").waitFor();
    report.title = await chat.locator("h1").innerText();
    await ask(chat, question);
    report.answer = await chat.locator(".answer .markdown").innerText();
    report.source = await chat.locator(".source").first().getAttribute("href");
    await chat.locator(".answer a.chip").first().click();
    report.focused = await chat.locator(":focus").getAttribute("class");
    await shot(page, "light");
    report.cookiesSent = (await Promise.all(requests.map((r) => r.headerValue("cookie")))).filter(Boolean).length;
    report.loaded = requests.map((r) => new URL(r.url()).pathname).filter((p) => p.startsWith("/assets/"));
    await page.reload();
    await button.click();
    report.kept = await chat.locator(".answer .markdown").innerText();
    await chat.locator("#question").press("Escape");
    // The frame asks its page to close it: that takes a moment.
    await page.locator("button[aria-expanded=false]").waitFor();
    report.closed = await button.evaluate((b) => b.getRootNode().activeElement === b);
    report.cookies = (await context.cookies()).length;
    report.said = said;
    await context.close();
  }

  // What browsers and readers of screens find in it, in each direction and theme.
  for (const [name, query, given] of [
    ["dark", "?theme=dark&color=%23ffd166", {}],
    ["phone-ar", "?lang=ar", { viewport: { width: 390, height: 800 }, colorScheme: "dark" }],
    ["phone-light", "?theme=light", { viewport: { width: 390, height: 844 } }],
    ["wide-de", "?lang=de&theme=light", { viewport: { width: 1920, height: 1080 } }],
    ["wide-dark", "?theme=dark", { viewport: { width: 1920, height: 1080 } }],
  ]) {
    const { context, page } = await open(listed + "/" + query, { ...given, bypassCSP: true });
    await page.locator("button[aria-expanded]").click();
    const chat = chatOf(page);
    await ask(chat, question);
    await shot(page, name);
    const { violations, passes } = await axe(page.frames().find((f) => f.url().startsWith(base + "/embed")));
    report.findings.push(...violations.map((v) => `${name}: ${told(v)}`));
    const host = await axe(page);
    report.findings.push(...host.violations.map((v) => `${name}, page: ${told(v)}`));
    report.rules += passes.length;
    const wide = await chat.locator("body").evaluate((b) => b.scrollWidth > innerWidth);
    if (wide) report.findings.push(`${name}: wider than its frame`);
    await context.close();
  }

  // The component, and hostile answers, with the policy of the frame and without it.
  for (const bypassCSP of [false, true]) {
    const { context, page } = await open(`${listed}/component`, { bypassCSP });
    const chat = chatOf(page);
    await chat.locator("#question").waitFor();
    await page.evaluate((q) => document.querySelector("parley-chat").ask(q), question);
    await chat.locator(".answer[aria-busy=false]").waitFor();
    report.component = await chat.locator(".bubble").first().innerText();
    for (let at = 0; at < vectors.length; at += 40) await ask(chat, vectors.slice(at, at + 40).join("\n\n"));
    const bad = await chat.locator("body").evaluate((body) => {
      const of = (el) => [...el.attributes].some((a) => /^on|^srcdoc$|^formaction$/i.test(a.name) || /^\s*(javascript|data|vbscript):/i.test(a.value));
      return [...body.querySelectorAll("*")].filter((el) => /^(script|iframe|img|object|embed|style|link|form-action|base|meta|video|audio)$/.test(el.localName) || of(el)).map((el) => el.outerHTML.slice(0, 120));
    });
    report.findings.push(...bad.map((b) => `hostile: ${b}`));
    await context.close();
  }

  // Pages that may not.
  {
    const { context, page, said } = await open(other);
    const refused = () => said.some((text) => text.startsWith("Parley:"));
    while (!refused()) await page.waitForEvent("console");
    await shot(page, "refused");
    report.refused = said.filter((text) => text.startsWith("Parley:"));
    report.rendered = await page.locator("parley-chat, iframe, button").count();
    // A page that frames the chat without the script.
    report.framed = await page.evaluate((src) => new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = () => { // an error page is of no origin that could be read, but it says nothing
        let ready = false;
        addEventListener("message", () => (ready = true));
        setTimeout(() => resolve(ready), 300);
      };
      frame.src = src;
      document.body.append(frame);
    }), `${base}/embed`);
    report.framedText = await page.frames().at(-1).evaluate(() => document.querySelector("#app")?.innerText ?? "").catch(() => "");
    await context.close();
  }
  return report;
}
