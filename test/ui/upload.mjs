// A good and a broken file are handed in, and an address that is none; what became of them is told.
export default async function ({ open, good, broken }) {
  const { page, seen } = await open({ path: "/#/documents" });
  await page.waitForSelector("input[type=file]", { state: "attached" });
  await page.setInputFiles("input[type=file]", [good]);
  await page.waitForSelector(".job[data-state=done]");
  const done = await page.locator(".job[data-state=done]").first().innerText();
  await page.waitForFunction(() => [...document.querySelectorAll(".documents tbody a")].some((a) => /good/i.test(a.textContent)));

  // Dropped, as a person would.
  const transfer = await page.evaluateHandle(async ([name, text]) => {
    const t = new DataTransfer();
    t.items.add(new File([text], name));
    return t;
  }, ["broken.pdf", broken]);
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent(".documents-view", type, { dataTransfer: transfer });
  await page.waitForSelector(".job[data-state=failed]", { timeout: 4 * 60_000 }); // parsers give way on a busy machine
  const failed = await page.locator(".job[data-state=failed]").first().innerText();

  await page.fill(".add-url input", "ftp://example.org/x");
  await page.locator(".add-url button").click();
  const refused = await page.locator("#url-wrong").innerText();

  // The upload is there after a reload, can be looked into, and is deleted.
  await page.reload();
  await page.waitForSelector(".job[data-state=failed]");
  await page.fill("main input[type=search]", "good");
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 1);
  await page.locator(".documents tbody a").click();
  await page.waitForSelector(".chunks li");
  const chunk = await page.locator(".chunks li p").first().textContent();
  await page.locator(".chunks button").first().click();
  await page.waitForSelector(".panel mark");
  const marked = await page.locator(".panel mark").first().innerText();
  await page.keyboard.press("Escape");
  await page.goto(page.url().replace(/#.*/, "#/documents"));
  await page.fill("main input[type=search]", "good");
  await page.waitForFunction(() => document.querySelectorAll(".documents tbody tr").length === 1);
  await page.locator(".documents .menu button").click();
  await page.locator(".menu-list .danger").click();
  await page.locator(".dialog .danger").click();
  await page.waitForSelector(".empty");
  return { done, failed, refused, chunk, marked, seen };
}
