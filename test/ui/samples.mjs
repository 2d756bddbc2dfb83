// From an empty server to a cited answer by two clicks, with sample documents.
export default async function ({ open }) {
  const { page, seen } = await open();
  let clicks = 0;
  const click = async (locator) => {
    clicks++;
    await locator.click();
  };
  await click(page.getByRole("button", { name: "Try sample documents" }));
  await page.waitForFunction(() => document.querySelectorAll(".attachments button.small").length === 2);
  await click(page.locator(".attachments button.small").first());
  await page.waitForSelector(".answer-foot");
  return { clicks, question: await page.locator(".bubble").innerText(), chips: await page.locator(".answer button.chip").count(), seen };
}
