// axe-core on a page that has come to rest.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Runs axe. The page's context must have bypassCSP, since axe is a script of ours. */
export async function axe(page, options = {}) {
  await settled(page);
  await page.evaluate((script) => window.axe || (0, eval)(script), source);
  const run = () => page.evaluate((o) => window.axe.run(document, { resultTypes: ["violations"], ...o }), options);
  const result = await run();
  if (!result.violations.some((v) => v.id === "color-contrast")) return result;
  // On a busy machine, a theme that has just changed may be drawn in part. What is still wrong later is a fault.
  await page.waitForTimeout(1000);
  await settled(page);
  return await run();
}

/** A violation in one line. */
export const told = (v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any[0]?.message ?? ""}`).join(" | ")}`;

/** Waits until two frames are painted and nothing moves, since colours are mixed until then. */
async function settled(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    await Promise.allSettled(document.getAnimations().map((a) => a.finished));
    await frame();
    await frame();
  });
}
