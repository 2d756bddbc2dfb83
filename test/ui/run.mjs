// Runs one scenario in Chromium against a running server and prints what came of it as one line of JSON.
//
//   node run.mjs SCENARIO '{"base":"http://127.0.0.1:8000","chromium":"/usr/bin/chromium", …}'
import { chromium } from "playwright-core";

const [, , name, input] = process.argv;
const options = JSON.parse(input);
const scenario = (await import(`./${name}.mjs`)).default;

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", ...(options.args ?? []),
  ],
});
try {
  const result = await scenario({ browser, ...options, open });
  process.stdout.write("\n" + JSON.stringify(result) + "\n");
} finally {
  await browser.close();
}

/** Opens a page that notes errors, scripts that ran where none may, and requests to other origins. */
async function open({ context: given = {}, path = "/" } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...given });
  const page = await context.newPage();
  context.setDefaultTimeout(options.patience ?? 30_000);
  const seen = { errors: [], dialogs: [], foreign: [], scripts: 0 };
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource/.test(m.text()) && seen.errors.push(m.text()));
  page.on("pageerror", (e) => seen.errors.push(String(e.stack ?? e)));
  page.on("dialog", (d) => {
    seen.dialogs.push(d.message());
    d.dismiss().catch(() => {});
  });
  page.on("request", (r) => {
    const url = r.url();
    if (!url.startsWith(options.base) && !url.startsWith("data:") && !url.startsWith("blob:")) seen.foreign.push(url);
  });
  await page.exposeFunction("__ran", () => void seen.scripts++);
  await page.addInitScript(() => {
    for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = () => window.__ran(name);
  });
  await page.goto(options.base + path);
  await page.waitForSelector("#question, main h1, main h2");
  return { page, context, seen };
}
