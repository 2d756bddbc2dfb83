// Runs an OpenID Connect provider on this machine until standard input ends, and prints as one JSON object: its
// issuer, a JWT access token for the audience "parley" (RFC 9068), one for another audience, and an opaque one.
//
//   node oidc.mjs
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
  clients: [{ client_id: "app", client_secret: "secret", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] }],
  extraTokenClaims: () => ({ groups: ["writers"] }),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: "", audience: resource.slice("urn:".length), accessTokenFormat: "jwt" }),
    },
  },
});
server.on("request", provider.callback());

async function token(resource) {
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("app:secret")}` },
    body: new URLSearchParams({ grant_type: "client_credentials", ...(resource && { resource }) }),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(JSON.stringify(body));
  return body.access_token;
}

console.log(JSON.stringify({ issuer, good: await token("urn:parley"), foreign: await token("urn:another"), opaque: await token() }));
process.stdin.resume().on("end", () => process.exit(0));
