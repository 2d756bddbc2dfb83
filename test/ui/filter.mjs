// The list of documents is filtered by attributes.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

const sizes = [[390, 844], [1280, 800], [1920, 1080]];

export default async function ({ open, base, shots }) {
  const { page, seen } = await open({ context: { viewport: { width: 1280, height: 800 }, bypassCSP: true }, path: "/#/documents" });
  const out = { findings: [] };
  const found = async (n) => {
    await page.waitForFunction((n) => document.querySelector(".list-head [role=status]")?.textContent.startsWith(`${n} `), n);
    return page.locator(".list-head [role=status]").innerText();
  };
  const chips = (page) => page.locator(".filter-chips li").allInnerTexts();
  const choose = async (key, value) => {
    await page.getByRole("button", { name: "Filter by attribute" }).click();
    await page.getByRole("combobox", { name: key, exact: true }).selectOption({ label: value });
    await page.locator(".filter form button").click();
  };
  const look = async (name, page) => {
    for (const [width, height] of sizes) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        out.findings.push(...(await axe(page)).violations.map((v) => `${name} ${width} ${colorScheme}: ${told(v)}`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth ||
          [...document.querySelectorAll(".popup-box, .filter-chips li")].some((e) => e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > innerWidth));
        if (wide) out.findings.push(`${name} ${width}: something is wider than the page`);
        if (!shots) continue;
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: `${shots}/filter-${name}-${width}-${colorScheme}.png` });
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
  };
  out.all = await found("120");

  await page.getByRole("button", { name: "Filter by attribute" }).click();
  await page.waitForSelector(".filter-choice");
  out.keys = await page.locator(".filter-choice > span").allInnerTexts();
  out.departments = await page.getByRole("combobox", { name: "department", exact: true }).locator("option").allInnerTexts();
  await look("choice", page);
  await page.keyboard.press("Escape");

  await choose("tags", "policy (110)");
  out.tagged = await found("110");
  out.focused = await page.evaluate(() => document.activeElement?.className.includes("popup-button"));
  out.firstPage = await page.locator(".documents tbody tr").count();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 110);
  await choose("department", "Lights <b>__ran()</b> (55)");
  out.both = await found("55");
  out.chips = await chips(page);
  await page.getByRole("searchbox", { name: "Search documents" }).fill("document 01");
  out.searched = await found("5");
  await look("chips", page);

  await page.locator(".documents tbody th a").first().click();
  await page.waitForSelector(".attributes");
  await page.goBack();
  out.back = await found("5");
  out.kept = [await page.getByRole("searchbox", { name: "Search documents" }).inputValue(), ...(await chips(page))];

  await page.getByRole("button", { name: "Remove the filter “tags: policy”" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".filter-chips li").length === 1);
  await page.getByRole("searchbox", { name: "Search documents" }).fill("nothing at all");
  await page.waitForSelector(".empty");
  out.empty = await page.locator(".empty h2").innerText();
  await page.getByRole("searchbox", { name: "Search documents" }).fill("");
  out.one = await found("60");
  await page.getByRole("searchbox", { name: "Search documents" }).fill("nothing at all");
  await page.waitForSelector(".empty");
  await page.getByRole("button", { name: "Remove filters" }).click();
  await page.waitForSelector(".filter-chips", { state: "detached" });
  await page.getByRole("searchbox", { name: "Search documents" }).fill("");
  out.none = await found("120");

  const arabic = await open({ context: { viewport: { width: 1280, height: 800 }, bypassCSP: true, locale: "ar-EG" }, path: "/#/documents" });
  await arabic.page.locator(".filter .popup-button").click();
  await arabic.page.locator(".filter-choice select").first().selectOption({ index: 1 });
  await arabic.page.keyboard.press("Tab"); // to the button, by the keyboard
  while (!(await arabic.page.evaluate(() => document.activeElement.matches(".filter form button")))) await arabic.page.keyboard.press("Tab");
  await arabic.page.keyboard.press("Enter");
  await arabic.page.waitForSelector(".filter-chips li");
  await arabic.page.locator(".filter .popup-button").click();
  await arabic.page.waitForSelector(".filter-choice");
  await look("arabic", arabic.page);
  seen.errors.push(...arabic.seen.errors);
  return { ...out, seen };
}
