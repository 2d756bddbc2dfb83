// The server goes away while an answer comes, and is back later.
export default async function ({ open, question, control }) {
  const { page } = await open();
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".answer .markdown")?.textContent.includes("More words"));
  await fetch(`${control}/cut`);
  await page.waitForSelector(".connection p");
  await page.waitForSelector(".doing.reconnecting");
  const during = await page.locator(".connection").innerText();
  const doing = await page.locator(".answer .doing").innerText();
  const below = await page.evaluate(() => document.querySelector(".answer .markdown").getBoundingClientRect().bottom <= document.querySelector(".answer .doing").getBoundingClientRect().top);
  await page.locator(".new-chat").click();
  await page.waitForSelector(".welcome");
  const welcome = await page.locator(".welcome p").first().innerText();
  const banner = await page.locator(".connection").innerText();
  await fetch(`${control}/restore`);
  await page.waitForSelector(".connection p", { state: "detached" }); // by itself
  const back = /document/.test(await page.locator(".welcome p").first().innerText());
  return { during, doing, below, welcome, banner, back };
}
