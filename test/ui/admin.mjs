// What administrators see and do, and that others don't.
import { mkdirSync } from "node:fs";
import { ask } from "./ask.mjs";
import { axe, told } from "./axe.mjs";

export default async function ({ open, admin, reader, shots }) {
  const out = { findings: [] };
  const as = (key, more = {}) => ({ extraHTTPHeaders: { Authorization: `Bearer ${key}` }, bypassCSP: true, viewport: { width: 1280, height: 800 }, ...more });
  const { page, seen } = await open({ context: as(admin) });
  const rate = async (where, reason) => {
    await ask(where, "How tall is the lighthouse of Skagen?");
    await where.getByRole("button", { name: "Bad answer" }).click();
    await where.locator(".reasons input").fill(reason);
    await where.locator(".reasons").getByRole("button", { name: "Send" }).click();
    await where.waitForSelector(".reasons", { state: "detached" });
    await where.waitForFunction(async (reason) => { // it is stored
      const [chat] = await (await fetch("/api/chat-history")).json();
      const messages = chat ? await (await fetch(`/api/chat-history/${chat.id}/messages`)).json() : [];
      return messages.some((m) => m.parley?.feedback?.reason === reason);
    }, reason);
  };
  await rate(page, "<img src=x onerror=__ran()>");
  const look = async (name) => {
    for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (shots) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: `${shots}/admin-${name}-${width}-${colorScheme}.png` });
        }
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)) out.findings.push(`${name} ${width}: wider than the screen`);
    }
    const { violations } = await axe(page);
    out.findings.push(...violations.map((v) => `${name}: ${told(v)}`));
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await page.locator(".places a", { hasText: "Administration" }).click();
  await page.waitForSelector(".admin-table tfoot");
  out.chart = await page.locator(".usage-chart rect").count();
  await look("usage");
  await page.locator(".admin-tools select").first().selectOption("model");
  await page.waitForFunction(() => /builtin:extractive/.test(document.querySelector(".admin-table tbody")?.innerText ?? ""));
  out.usage = (await page.locator(".admin-table tbody tr").first().innerText()).split(/\s+/).slice(0, 2);

  await page.locator("#admin-budgets").click();
  await page.waitForSelector(".admin-table meter");
  out.budgets = (await page.locator("#admin-panel tbody tr").allInnerTexts()).map((row) => row.split(/\s+/).join(" "));
  await look("budgets");
  await page.getByRole("button", { name: "Change limits" }).click();
  await page.locator("dialog.limits input").nth(0).fill("50");
  await page.locator("dialog.limits input").nth(5).fill("2.5");
  await look("limits");
  await page.getByRole("button", { name: "Save limits" }).click();
  await page.waitForFunction(() => /set here/.test(document.querySelector("#admin-panel")?.innerText ?? ""));
  out.limits = (await page.locator("#admin-panel tbody tr").allInnerTexts()).slice(0, 2).map((row) => row.split(/\s+/).join(" "));
  await page.getByRole("button", { name: "Change limits" }).click();
  await page.getByRole("button", { name: "Use the server's settings" }).click();
  await page.waitForFunction(() => /come from the server/.test(document.querySelector("#admin-panel")?.innerText ?? ""));

  await page.locator("#admin-health").click();
  await page.waitForSelector(".admin-table tbody tr");
  out.health = (await page.locator("#admin-panel tbody tr").allInnerTexts()).map((row) => row.split(/\s+/).join(" "));
  await look("health");
  await page.getByRole("button", { name: "Check again" }).click();
  await page.waitForSelector(".admin-table tbody tr");

  await page.locator("#admin-people").click();
  await page.waitForSelector(".row-actions");
  out.people = await page.locator("#admin-panel tbody th").allInnerTexts();
  out.exported = (await page.request.get(new URL(await page.locator(".row-actions a").first().getAttribute("href"), page.url()).href)).headers()["content-type"];
  await look("people");

  await page.locator("#admin-keys").click();
  await page.waitForSelector("#admin-panel .primary");
  await page.waitForSelector(".admin-table tbody tr");
  await page.getByRole("button", { name: "New key" }).click();
  await page.locator("dialog input").first().fill("<img src=x onerror=__ran()>");
  await page.locator("dialog input").nth(1).fill("default, hr");
  await page.locator("dialog input[type=date]").fill("2001-01-01");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForFunction(() => document.querySelector("dialog [role=alert]")?.innerText);
  out.refused = await page.locator("dialog [role=alert]").innerText();
  await page.locator("dialog input[type=date]").fill("2099-01-01");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForSelector("dialog code");
  out.key = await page.locator("dialog code").innerText();
  await look("new-key");
  await page.locator("dialog .dialog-actions button").click();
  const line = page.locator(".admin-table tbody tr", { hasText: "<img" });
  await line.waitFor();
  out.made = await line.innerText();
  await look("keys");
  await line.getByRole("button").click();
  await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.waitForFunction(() => [...document.querySelectorAll(".admin-table tbody tr")].some((r) => /<img/.test(r.innerText) && /revoked/.test(r.innerText)));

  await page.locator("#admin-audit").click();
  await page.waitForSelector(".admin-table tbody tr");
  await page.locator(".admin-tools select").first().selectOption("change");
  await page.waitForFunction(() => /POST \/api\/keys/.test(document.querySelector(".admin-table tbody")?.innerText ?? ""));
  out.audit = (await page.locator(".admin-table tbody tr").allInnerTexts()).length;
  await look("audit");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog .shortcuts");
  out.shortcuts = await page.locator(".shortcuts div").count();
  await look("shortcuts");

  const other = await open({ context: as(reader), path: "/#/admin" });
  await other.page.locator("#admin-keys").click();
  await other.page.waitForSelector(".empty");
  out.denied = await other.page.locator(".empty h2, .empty h3, .empty strong, .empty").first().innerText();
  out.places = await other.page.locator(".places a", { hasText: "Administration" }).count();

  // What is stored for another person is deleted; for oneself there is no button.
  await other.page.locator(".new-chat").click();
  await rate(other.page, "The wrong page.");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.locator("#admin-feedback").click();
  await page.waitForFunction(() => document.querySelectorAll("#admin-panel tbody tr").length === 2);
  const rows = page.locator("#admin-panel tbody tr");
  out.feedback = (await rows.allInnerTexts()).map((row) => row.split(/\s+/).join(" "));
  out.ways = await rows.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
  await look("feedback");
  await page.locator("#admin-people").click();
  await page.waitForFunction(() => document.querySelectorAll("#admin-panel tbody tr").length === 2);
  out.deletable = await page.locator("#admin-panel .danger").count();
  await page.locator("#admin-panel .danger").click();
  await page.locator("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll("#admin-panel tbody tr").length === 1);
  // Right to left, as one looks at it on a phone.
  const arabic = await open({ context: as(admin, { locale: "ar", viewport: { width: 390, height: 844 } }), path: "/#/admin" });
  await arabic.page.locator("#admin-health").click();
  await arabic.page.waitForSelector(".admin-table tbody tr");
  if (shots) await arabic.page.screenshot({ path: `${shots}/admin-health-390-ar.png` });
  out.arabic = await arabic.page.evaluate(() => [document.documentElement.dir, document.documentElement.scrollWidth > innerWidth + 1, document.querySelector("#admin-panel th[scope=row]").innerText]);
  return { ...out, seen };
}
