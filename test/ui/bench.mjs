// What the first load, a stream and a long conversation take in the browser.

export default async function ({ browser, base, open, question, kind, messages, locale }) {
  switch (kind) {
    case "stream":
      return stream(browser, open, question);
    case "load":
      return load(base, browser, locale);
    case "ask":
      return asking(base, open, question, messages);
    default:
      return scroll(base, open, messages);
  }
}

async function metrics(client) {
  const { metrics } = await client.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map((m) => [m.name, m.value]));
}

/** The bytes of a first load as they are sent, and the milliseconds until the largest part is painted. */
async function load(base, browser, locale) {
  const page = await (await browser.newContext({ locale, viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(`${base}/openapi.json`); // the browser is warm, and has nothing of the page
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  let bytes = 0;
  let requests = 0;
  client.on("Network.loadingFinished", (e) => {
    bytes += e.encodedDataLength;
    requests++;
  });
  await page.goto(base, { waitUntil: "networkidle" });
  await page.waitForFunction(() => document.querySelectorAll(".question-cards li").length >= 4 && document.querySelectorAll(".chats li").length >= 50);
  const painted = await page.evaluate(() => new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true });
  }));
  const conversations = await page.locator(".chats li").count();
  const questions = await page.locator(".question-cards li").count();
  return { bytes, requests, painted, conversations, questions };
}

/** The seconds of a processor that all threads of the page's process have taken. */
async function processTime(browser) {
  const client = await browser.newBrowserCDPSession();
  const { processInfo } = await client.send("SystemInfo.getProcessInfo");
  await client.detach();
  return processInfo.filter((p) => p.type === "renderer").reduce((sum, p) => sum + p.cpuTime, 0);
}

/** The time that the page's thread, and all threads of its process, work while an answer comes, in seconds for each second. */
async function stream(browser, open, question) {
  const { page } = await open();
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => (document.querySelector(".answer .markdown")?.textContent.length ?? 0) > 200, null, { polling: 200 });
  const before = { ...(await metrics(client)), Process: await processTime(browser) };
  const begun = performance.now();
  const shown = async () => (await page.locator(".answer .markdown").innerText()).split(/\s+/).length;
  const at = await shown();
  await page.waitForTimeout(6000);
  const after = { ...(await metrics(client)), Process: await processTime(browser) };
  const seconds = (performance.now() - begun) / 1000;
  const words = (await shown()) - at;
  const share = (name) => (after[name] - before[name]) / seconds;
  await page.keyboard.press("Escape");
  return { words: words / seconds, task: share("TaskDuration"), process: share("Process"), script: share("ScriptDuration"), layout: share("LayoutDuration") + share("RecalcStyleDuration"), seconds };
}

/** The seconds that the page's thread works for one question in a long conversation, and the milliseconds for a key. */
async function asking(base, open, question, messages) {
  const id = await longConversation(base, messages);
  const { page } = await open();
  await page.goto(`${base}/#/chat/${id}`);
  await page.waitForSelector(".message.last", { state: "attached" });
  await page.waitForTimeout(5000); // what comes in while nothing else is to do
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await metrics(client);
  await page.locator("#question").pressSequentially(question);
  const typed = await metrics(client);
  const answers = await page.locator(".answer-foot").count();
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.querySelectorAll(".answer-foot").length !== n || document.querySelector(".message.last .answer-foot"), answers, { polling: 200 });
  await page.waitForFunction(() => !document.querySelector(".at-work"), null, { polling: 200 });
  await page.waitForTimeout(500);
  const after = await metrics(client);
  return { key: ((typed.TaskDuration - before.TaskDuration) * 1000) / question.length, ask: after.TaskDuration - typed.TaskDuration, inPage: await page.locator(".message").count() };
}

/** How long a long conversation takes to be there, and what scrolling through it takes for each frame. */
async function scroll(base, open, messages) {
  const id = await longConversation(base, messages);
  const { page } = await open();
  const begun = performance.now();
  await page.goto(`${base}/#/chat/${id}`);
  await page.waitForSelector(".message.last", { state: "attached" });
  const first = performance.now() - begun;
  await page.waitForFunction(() => document.querySelectorAll(".message").length >= 200); // earlier ones come while scrolling
  const all = performance.now() - begun;
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await metrics(client);
  const frames = await page.evaluate(scrollThrough);
  const after = await metrics(client);
  return { first, all, frames: frames.length, work: ((after.TaskDuration - before.TaskDuration) * 1000) / frames.length, longest: Math.max(...frames) };
}

export async function longConversation(base, messages) {
  const json = { "Content-Type": "application/json", Origin: base };
  const { id } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json, body: "{}" })).json();
  const list = Array.from({ length: messages }, (_, i) => ({
    messageId: `m${i}`, parentId: i ? `m${i - 1}` : "", role: i % 2 ? "assistant" : "user",
    content: i % 2 ? `Answer ${i}.\n\n- **one** of it\n- two, with \`code\`\n\n| A | B |\n|---|---|\n| ${i} | x |\n\n${"Some more words of it. ".repeat(i % 7)}` : `Question ${i}?`,
  }));
  for (let at = 0; at < messages; at += 500) {
    await fetch(`${base}/api/chat-history/${id}/messages`, { method: "PUT", headers: json, body: JSON.stringify({ messages: list.slice(at, at + 500) }) });
  }
  return id;
}

/** Scrolls up and down again by 150 px a frame, which is 9,000 px a second, and returns how long each frame was, in ms. */
function scrollThrough() {
  const el = document.querySelector(".messages");
  return new Promise((resolve) => {
    const frames = [];
    let last = performance.now();
    let step = -150;
    const frame = (now) => {
      frames.push(now - last);
      last = now;
      el.scrollTop += step;
      if (frames.length === 150) step = 150;
      if (frames.length < 300) requestAnimationFrame(frame);
      else resolve(frames.slice(1));
    };
    requestAnimationFrame(frame);
  });
}
