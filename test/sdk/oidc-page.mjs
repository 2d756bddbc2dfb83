// Runs an OpenID Connect provider on this machine at which people sign in with a name, until standard input ends, and
// prints its issuer as JSON. Whoever is called "writer…" is in the group writers. Its client "page" may be sent back
// to any port of this machine.
//
//   node oidc-page.mjs
import { createServer } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

console.info = console.warn = () => {}; // it warns of a setup that is not for production

const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const key = { ...(await exportJWK(privateKey)), kid: "first", alg: "RS256", use: "sig" };
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  clients: [{
    client_id: "page", client_secret: "hush", grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: ["http://127.0.0.1/sign-in/test/callback"],
  }],
  claims: { openid: ["sub"], email: ["email"], groups: ["groups"] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, groups: id.startsWith("writer") ? ["writers"] : [] }) }),
  loadExistingGrant: async (ctx) => { // nobody is asked for consent
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid email groups");
    await grant.save();
    return grant;
  },
});
const local = (path) => (uri) => new RegExp(`^http://127\\.0\\.0\\.1:\\d+${path}$`).test(uri);
provider.Client.prototype.redirectUriAllowed = local("/sign-in/test/callback");
provider.Client.prototype.postLogoutRedirectUriAllowed = local("/sign-in");

const answer = provider.callback();
server.on("request", async (req, res) => {
  if (!req.url.startsWith("/interaction/")) return answer(req, res);
  try {
    await provider.interactionDetails(req, res);
    if (req.method === "POST") {
      let body = "";
      for await (const part of req) body += part;
      await provider.interactionFinished(req, res, { login: { accountId: new URLSearchParams(body).get("login") } });
      return;
    }
    res.setHeader("Content-Type", "text/html");
    res.end(`<!doctype html><title>Provider</title><form method="post"><input name="login"><button>Continue</button></form>`);
  } catch (error) {
    res.statusCode = 500;
    res.end(String(error));
  }
});

console.log(JSON.stringify({ issuer }));
process.stdin.resume().on("end", () => process.exit(0));
