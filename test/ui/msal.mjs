// Somebody signs in with MSAL.js, set up by what the server's /auth_setup says, as the front ends of the Azure samples do
// it: in a popup, with the settings unchanged. Then they ask with the token.
export default async function ({ browser, front, patience }) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await page.goto(front);
  const signedIn = context.waitForEvent("page").then(async (popup) => {
    await popup.fill("input[name=login]", "ann");
    await popup.getByRole("button").click();
  });
  const seen = await page.evaluate(async () => {
    const ask = async (token) => {
      const answer = await fetch("/chat", {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) },
        body: JSON.stringify({ messages: [{ role: "user", content: "How tall is the lighthouse of Skagen?" }], context: { overrides: { use_oid_security_filter: true } }, session_state: null }),
      });
      return `${answer.status} ${(await answer.json()).message?.content ?? ""}`;
    };
    const setup = await fetch("/auth_setup").then((r) => r.json());
    const anonymous = await ask();
    const redirectUri = location.origin + setup.msalConfig.auth.redirectUri;
    const app = new msal.PublicClientApplication(setup.msalConfig);
    await app.initialize();
    const { account } = await app.loginPopup({ ...setup.loginRequest, redirectUri });
    app.setActiveAccount(account);
    const { accessToken } = await app.acquireTokenSilent({ ...setup.tokenRequest, redirectUri });
    const me = await fetch("/.auth/me", { headers: { Authorization: `Bearer ${accessToken}` } }).then((r) => r.json());
    return {
      useLogin: setup.useLogin, anonymous, subject: account.localAccountId, answer: await ask(accessToken), me: me[0].user_claims.map((c) => c.val),
    };
  });
  await signedIn;
  return seen;
}
