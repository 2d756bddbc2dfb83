// What scenarios do in the chat.

/** Asks a question and waits for the answer to be whole. */
export async function ask(page, question) {
  const before = await page.locator(".answer-foot").count();
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.querySelectorAll(".answer-foot").length > n, before);
}

/** The text of the last answer. */
export const answerText = (page) => page.locator(".answer .markdown").last().innerText();

/** Begins a new chat, and waits until the one before is gone from the page: ask counts answers. */
export async function begin(page) {
  await page.locator(".new-chat").click();
  await page.waitForSelector(".answer", { state: "detached" });
}
