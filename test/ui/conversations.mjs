// The list of conversations: searched by what was said, grouped, pinned, and deleted with a way back; in all tabs.

const json = (base) => ({ "Content-Type": "application/json", Origin: base });

async function store(base, question, answer) {
  const { id } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json(base), body: "{}" })).json();
  const messages = [{ messageId: "q", parentId: "", role: "user", content: question }, { messageId: "a", parentId: "q", role: "assistant", content: answer }];
  const put = await fetch(`${base}/api/chat-history/${id}/messages`, { method: "PUT", headers: json(base), body: JSON.stringify({ messages }) });
  if (!put.ok) throw new Error(await put.text());
  return id;
}

export default async function ({ base, open }) {
  const result = {};
  const lighthouse = await store(base, "How high is it?", "The lighthouse of **Skagen** is 46 metres high [a.pdf#page=2].");
  await store(base, "Dues?", "Sailing boats pay 180 kroner.");
  await store(base, "Größe?", "Die GRÖSSE der Pumpe ist <b>12</b>.");
  const { page, context, seen } = await open();
  const other = await context.newPage();
  await other.goto(base);
  await other.waitForSelector(".chats li a");
  const titles = (p, group) => p.locator(`.chats section[aria-label="${group}"] .chat-title`).allTextContents();
  await page.waitForSelector(".chats li a");
  result.today = await titles(page, "Today");

  // What was said is found, in whatever case, with the words marked.
  for (const [name, q] of [["found", "LIGHTHOUSE skagen"], ["umlaut", "grösse"], ["none", "walrus"]]) {
    await page.fill(".chats input[type=search]", q);
    await page.waitForFunction((wanted) => {
      const none = document.querySelector(".chat-list .none")?.textContent ?? "";
      return wanted ? document.querySelectorAll(".chat-snippet").length === 1 : none.startsWith("No conversation");
    }, name !== "none");
    result[name] = { lines: await page.locator(".chats li").count(), snippet: await page.locator(".chat-snippet").allInnerTexts(), marks: await page.locator(".chat-snippet mark").allInnerTexts() };
  }
  await page.fill(".chats input[type=search]", "");

  // Pinned, here and in the other tab.
  const menu = async (title, item) => {
    await page.locator(".chats li", { hasText: title }).hover();
    await page.locator(`.chats [aria-label="Actions for “${title}”"]`).click();
    await page.locator(".menu-list button", { hasText: item }).click();
  };
  await menu("Dues?", "Pin");
  await other.waitForSelector('.chats section[aria-label="Pinned"] li');
  await page.waitForSelector('.chats section[aria-label="Pinned"] li');
  result.pinned = [await titles(page, "Pinned"), await titles(other, "Pinned")];

  // Deleted, undone, and the conversation that was open is shown again.
  await page.goto(`${base}/#/chat/${lighthouse}`);
  await page.waitForSelector(".answer-foot");
  await menu("How high is it?", "Delete");
  await page.waitForSelector(".empty");
  result.whileDeleted = await titles(page, "Today");
  await page.locator(".toast button", { hasText: "Undo" }).click();
  await page.waitForSelector(".answer-foot");
  await page.waitForFunction(() => document.querySelectorAll(".chats li").length === 3);
  result.back = await page.locator(".bubble").innerText();

  // Deleted for good when the page is left, also in the other tab.
  await menu("How high is it?", "Delete");
  await page.waitForSelector(".empty");
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".chats li").length === 2);
  await other.waitForFunction(() => document.querySelectorAll(".chats li").length === 2);
  const gone = async () => (await fetch(`${base}/api/chat-history/${lighthouse}/messages`)).status;
  for (let tries = 0; tries < 100 && (await gone()) !== 404; tries++) await page.waitForTimeout(100);
  result.gone = await gone();
  await page.close();
  return { ...result, long: await longList(base, context), seen };
}

/** A list that is longer than a page: it goes on as one scrolls, here and in another tab. */
async function longList(base, context) {
  const all = [];
  for (let i = 0; i < 230; i++) all.push(await store(base, `Question ${i} of many${i === 2 ? " zebras" : ""}`, `Answer ${i}.`));
  await fetch(`${base}/api/chat-history/${all[0]}`, { method: "PUT", headers: json(base), body: '{"pinned":true}' });
  const page = await context.newPage();
  const listed = () => page.locator(".chats li").count();
  await page.goto(`${base}/#/chat/${all[1]}`);
  await page.waitForSelector(".answer-foot");
  await page.waitForSelector(".chats .older");
  const result = { first: await listed(), pinned: await page.locator('.chats section[aria-label="Pinned"] .chat-title').allTextContents(), title: await page.title() };
  await page.locator(".chat-list").evaluate((el) => el.scrollTo(0, el.scrollHeight));
  await page.waitForFunction(() => document.querySelectorAll(".chats li").length > 60);
  result.second = await listed();

  // What another tab does leaves it as long as it is.
  const other = await context.newPage();
  await other.goto(base);
  await other.waitForSelector(".chats .older");
  await other.locator(".chats li", { hasText: "Question 229 of many" }).hover();
  await other.locator('.chats [aria-label="Actions for “Question 229 of many”"]').click();
  await other.locator(".menu-list button", { hasText: "Pin" }).click();
  await page.waitForFunction(() => document.querySelectorAll('.chats section[aria-label="Pinned"] li').length === 3);
  result.afterwards = await listed();

  while (await page.locator(".chats .older").count()) { // the way to the button loads the next ones too
    const before = await listed();
    await page.evaluate(() => document.querySelector(".chats .older")?.focus());
    await page.keyboard.press("Enter");
    await page.waitForFunction((n) => document.querySelectorAll(".chats li").length > n || !document.querySelector(".chats .older"), before);
  }
  result.whole = await listed();
  result.different = new Set(await page.locator(".chats li a").evaluateAll((links) => links.map((a) => a.href))).size;

  await page.fill(".chats input[type=search]", "zebras");
  await page.waitForFunction(() => document.querySelectorAll(".chats li").length === 1);
  await other.keyboard.press("Control+k");
  await other.fill(".palette input", "zebras");
  await other.waitForSelector(".palette li:has-text('zebras')");
  return result;
}
