// Runs an OpenID Connect provider on this machine at which people sign in with a name, until standard input ends, and
// prints its issuer as JSON. Whoever is called "writer…" is in the group writers. Its client "page" may be sent back
// to any port of this machine. With a certificate it answers over https, and its client "spa", which has no secret, gets
// JWT access tokens for the audience "parley".
//
//   [TLS_KEY=PEM TLS_CERT=PEM] node oidc-page.mjs
import { createServer } from "node:http";
import { createServer as createTLSServer } from "node:https";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

console.info = console.warn = () => {}; // it warns of a setup that is not for production

const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const key = { ...(await exportJWK(privateKey)), kid: "first", alg: "RS256", use: "sig" };
const { TLS_KEY, TLS_CERT } = process.env;
const server = TLS_KEY ? createTLSServer({ key: TLS_KEY, cert: TLS_CERT }) : createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `${TLS_KEY ? "https" : "http"}://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  clients: [{
    client_id: "page", client_secret: "hush", grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: ["http://127.0.0.1/sign-in/test/callback"],
  }, {
    client_id: "spa", token_endpoint_auth_method: "none", grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: ["https://127.0.0.1/redirect"],
  }],
  scopes: ["openid", "ask"],
  claims: { openid: ["sub"], email: ["email"], groups: ["groups"] },
  pkce: { required: () => true },
  clientBasedCORS: (_, __, client) => client.clientId === "spa",
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_, client) => client.clientId === "spa" ? "urn:parley" : undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "ask", audience: "parley", accessTokenFormat: "jwt" }),
    },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com`, groups: id.startsWith("writer") ? ["writers"] : [] }) }),
  loadExistingGrant: async (ctx) => { // nobody is asked for consent
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid email groups ask");
    grant.addResourceScope("urn:parley", "ask");
    await grant.save();
    return grant;
  },
});
const local = (path) => (uri) => new RegExp(`^https?://127\\.0\\.0\\.1:\\d+${path}$`).test(uri);
provider.Client.prototype.redirectUriAllowed = local("(/sign-in/test/callback|/redirect)");
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
