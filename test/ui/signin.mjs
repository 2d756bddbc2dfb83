// Somebody signs in at a provider, asks, and signs out; somebody else signs in with a key; other sites try to use the
// session.
export default async function ({ browser, base, evil, key, patience }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const errors = [];
  page.on("pageerror", (e) => errors.push(String(e)));
  const scripts = [];
  page.on("console", (m) => /Content Security Policy/.test(m.text()) && scripts.push(m.text()));

  await page.goto(`${base}/?x=1#/documents`);
  await page.waitForURL(/\/sign-in\?back=/);
  const heading = await page.locator("h1").innerText();
  await page.getByRole("link", { name: "Sign in with Test" }).click();
  await page.fill("input[name=login]", "writer-ann");
  await page.getByRole("button").click();
  await page.waitForURL(`${base}/?x=1#/documents`);
  await page.waitForSelector(".places button.place");
  const account = await page.locator(".places button.place").innerText();
  const cookies = (await context.cookies(base)).filter((c) => c.name.includes("parley"))
    .map((c) => ({ name: c.name, httpOnly: c.httpOnly, sameSite: c.sameSite }));
  const readable = await page.evaluate(() => document.cookie);
  const me = await page.evaluate(() => fetch("/api/me").then((r) => r.json()));

  await page.goto(`${base}/#/chat`);
  await page.fill("#question", "How tall is the lighthouse of Skagen?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /46 metres/.test(document.querySelector(".answer .markdown")?.textContent ?? ""));

  // A page of another port of this machine is of the same site, so the browser sends it the cookie's requests.
  const other = await context.newPage();
  await other.goto(evil);
  const attacks = await other.evaluate(async (base) => {
    const tried = {};
    const attempt = async (name, path, init) => {
      tried[name] = await fetch(base + path, { credentials: "include", ...init }).then(async (r) => `${r.type} ${r.status} ${(await r.text()).slice(0, 60)}`, () => "unreadable");
    };
    await attempt("read", "/api/me", {});
    await attempt("blind", "/sign-out", { method: "POST", mode: "no-cors" });
    await attempt("sign out", "/sign-out", { method: "POST" });
    await attempt("change", "/chat-history", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    return tried;
  }, base);
  await other.evaluate((base) => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = `${base}/sign-out`;
    document.body.append(form);
    form.submit();
  }, base);
  await other.waitForURL(`${base}/sign-out`);
  const posted = await other.locator("body").innerText();
  await other.close();
  const still = await page.evaluate(() => fetch("/api/me").then((r) => r.status));

  await page.locator(".places button.place").click();
  await page.getByRole("button", { name: /Yes, sign me out/i }).click(); // the provider asks
  await page.waitForURL(`${base}/sign-in`);
  const left = (await context.cookies(base)).filter((c) => c.name === "parley-session").length;
  await page.getByRole("link", { name: "Sign in with Test" }).click();
  await page.waitForSelector("input[name=login]"); // the provider has forgotten too
  await page.goto(base);
  await page.waitForURL(/\/sign-in\?back=/);

  await page.fill("#key", key.slice(0, -1));
  await page.getByRole("button").click();
  await page.waitForSelector("[role=alert]");
  const wrong = await page.locator("[role=alert]").innerText();
  await page.fill("#key", key);
  await page.getByRole("button").click();
  await page.waitForSelector(".places button.place");
  const withKey = await page.evaluate(() => fetch("/api/me").then((r) => r.json()));
  await page.locator(".places button.place").click();
  await page.waitForURL(/signed_out/);
  const goodbye = await page.locator("[role=status]").innerText();
  return { heading, account, cookies, readable, me, attacks, posted, still, left, wrong, withKey, goodbye, errors, scripts };
}
