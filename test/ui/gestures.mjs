// Swipes on a phone: from the edge to the conversations and back, and what closes the panel. In both directions of writing.
import { ask } from "./ask.mjs";

export default async function ({ open, question }) {
  const out = {};
  for (const locale of ["en-GB", "ar-EG"]) {
    const { page, seen } = await open({ context: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, locale } });
    const client = await page.context().newCDPSession(page);
    /** Swipes from a point to another. x is counted from the edge where lines begin. */
    const swipe = async (x, y, toX, toY) => {
      const at = (i) => [{ x: locale === "ar-EG" ? 389 - (x + ((toX - x) * i) / 5) : x + ((toX - x) * i) / 5, y: y + ((toY - y) * i) / 5 }];
      await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
      for (let i = 1; i <= 5; i++) await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(i) });
      await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
      await page.waitForTimeout(400);
    };
    const drawer = () => page.locator(".sidebar.open").count();
    const panel = () => page.locator(".panel").count();
    const steps = (out[locale.slice(0, 2)] = {});
    await ask(page, question);
    await page.waitForFunction(() => location.hash.length > 10);
    await swipe(200, 300, 340, 310);
    steps.amid = await drawer();
    await swipe(8, 300, 60, 420);
    steps.askew = await drawer();
    await swipe(8, 300, 200, 310);
    steps.edge = await drawer();
    await swipe(250, 300, 60, 310);
    steps.back = await drawer();

    const source = async () => {
      await page.locator(".answer button.chip").first().click();
      await page.waitForSelector(".panel .box, .panel mark");
    };
    await source();
    await swipe(180, 300, 190, 500);
    steps.scrolled = await panel();
    await swipe(180, 20, 190, 220);
    steps.down = await panel();
    await source();
    await swipe(8, 400, 200, 410);
    steps.side = [await panel(), await drawer()];
    steps.errors = [...seen.errors, ...seen.foreign];
    await page.context().close();
  }
  return out;
}
