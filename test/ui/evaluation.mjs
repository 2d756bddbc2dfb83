// A set of questions, asked with two settings: where the questions come from, what came of them, and the way to the misses.
import { mkdirSync } from "node:fs";
import { ask } from "./ask.mjs";
import { axe, told } from "./axe.mjs";

export default async function ({ open, file, shots }) {
  const out = { findings: [] };
  const { page, seen } = await open({ context: { bypassCSP: true, viewport: { width: 1280, height: 800 } } });
  const look = async (name) => {
    for (const [width, height] of [[390, 844], [1280, 800], [1920, 1080]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (!shots) continue;
        mkdirSync(shots, { recursive: true });
        await page.screenshot({ path: `${shots}/evaluation-${name}-${width}-${colorScheme}.png`, fullPage: true });
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)) out.findings.push(`${name} ${width}: wider than the screen`);
    }
    const { violations } = await axe(page);
    out.findings.push(...violations.map((v) => `${name}: ${told(v)}`));
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  const rows = page.locator(".eval-cases tbody tr");
  const lines = (n) => page.waitForFunction((k) => document.querySelectorAll(".eval-cases tbody tr").length === k, n);

  // A rated answer is a question with the source that it cited.
  await ask(page, "How tall is the lighthouse of Skagen?");
  await page.getByRole("button", { name: "Good answer" }).click();
  await page.waitForFunction(async () => {
    const [chat] = await (await fetch("/api/chat-history")).json();
    return /"good":true/.test(await (await fetch(`/api/chat-history/${chat.id}/messages`)).text());
  });
  await page.locator(".places a", { hasText: "Evaluation" }).click();
  await page.waitForSelector(".evaluation .empty");
  await look("empty");
  await page.getByRole("button", { name: "From rated answers" }).click();
  await lines(1);
  out.rated = (await rows.first().locator("th").innerText()).split("\n");

  await page.locator(".evaluation input[type=file]").setInputFiles({ name: "questions.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(file) });
  await lines(1 + file.trim().split("\n").length);
  await page.getByLabel("Question", { exact: true }).fill("<img src=x onerror=__ran()>");
  await page.getByRole("button", { name: "Add question" }).click();
  await lines(2 + file.trim().split("\n").length);
  out.saved = await saved(page);

  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForSelector(".eval-sums");
  await page.waitForSelector(".compare progress", { state: "detached", timeout: 0 }); // eight answers; the scenario has its own limit
  out.sums = await page.locator(".eval-sums tbody tr").evaluateAll((all) => all.slice(0, 3).map((r) => r.innerText.split("\t").map((x) => x.trim())));
  out.verdicts = await rows.evaluateAll((all) => all.map((r) => [...r.querySelectorAll(".badge")].map((b) => b.innerText)));
  await look("results");
  await page.locator(".evaluation select").last().selectOption("misses");
  await page.waitForFunction((n) => document.querySelectorAll(".eval-cases tbody tr").length < n, out.verdicts.length);
  out.misses = await rows.locator("th button").allInnerTexts();
  await page.locator(".evaluation select").last().selectOption("all");
  await lines(out.verdicts.length);
  await rows.first().locator("th button").click();
  await page.waitForSelector("dialog.outcome");
  out.sides = await page.locator("dialog.outcome section h3").allInnerTexts();
  await look("outcome");
  await page.locator("dialog.outcome .link-button").first().click(); // the expected source
  await page.waitForSelector(".panel .mark, .panel .page-text, .panel mark, .panel article, .panel p");
  out.panel = await page.locator(".panel").innerText();

  // Everything is there after a reload.
  await page.reload();
  await lines(out.verdicts.length);
  out.kept = await page.locator(".eval-cases .badge").count();
  await page.getByRole("button", { name: "Remove all" }).click();
  await page.locator("dialog").getByRole("button", { name: "Remove all" }).click();
  await page.waitForSelector(".evaluation .empty");
  await page.getByRole("button", { name: "From the documents" }).click();
  await page.waitForSelector(".eval-cases tbody tr");
  out.made = await rows.locator("th").allInnerTexts();
  return { ...out, seen };
}

/** The text of the file that is saved. */
async function saved(page) {
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the questions" }).click();
  const stream = await (await coming).createReadStream();
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}
