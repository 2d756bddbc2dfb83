// Builds the page into ../internal/webui/dist. Two builds of the same sources are the same bytes: names
// are hashes of contents, and nothing of the machine or the time goes in.
//
//   node build.mjs           the page, minified
//   node build.mjs --watch   the same, again after each change, not minified
//   node build.mjs --test    the unit tests into .test/
import * as esbuild from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../internal/webui/dist");
const mode = process.argv[2] ?? "";

if (mode === "--test") {
  await buildTests();
} else if (mode === "--watch") {
  const context = await esbuild.context(options(true));
  await context.watch();
} else {
  await esbuild.build(options(false));
}

/** A script and its style sheet, and what they load on demand. */
function options(watching) {
  return {
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx" },
    bundle: true,
    splitting: true,
    define: { global: "globalThis" }, // of libraries that are made for Node too
    format: "esm",
    target: ["es2022", "chrome116", "firefox124", "safari17.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: !watching,
    charset: "utf8",
    legalComments: "none",
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false,
    plugins: [{ name: "page", setup: (build) => build.onEnd(writePage) }],
  };
}

/** Writes what was built, and the document that loads it. */
function writePage(result) {
  if (result.errors.length > 0) return;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, "assets"), { recursive: true });
  for (const file of result.outputFiles) writeFileSync(join(out, "assets", basename(file.path)), file.contents);
  const [script, { cssBundle }] = Object.entries(result.metafile.outputs).find(([, o]) => o.entryPoint === "src/main.tsx");
  const names = { ".js": basename(script), ".css": basename(cssBundle) };
  names.icon = copyHashed("src/icon.svg");
  const preload = result.metafile.outputs[script].imports.filter((i) => i.kind === "import-statement")
    .map((i) => `<link rel="modulepreload" href="/assets/${basename(i.path)}">\n`).join("");
  const page = readFileSync(join(here, "src/index.html"), "utf8")
    .replace("%script%", `/assets/${names[".js"]}`)
    .replace("%style%", `/assets/${names[".css"]}`)
    .replace("%preload%\n", preload)
    .replace("%icon%", `/assets/${names.icon}`);
  writeFileSync(join(out, "index.html"), page);
}

function copyHashed(source) {
  const contents = readFileSync(join(here, source));
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();
  const name = basename(source).replace(/(\.\w+)$/, `-${hash}$1`);
  cpSync(join(here, source), join(out, "assets", name));
  return name;
}

async function buildTests() {
  const tests = readdirSync(join(here, "src"), { recursive: true }).filter((f) => /\.test\.tsx?$/.test(f));
  const dir = join(here, ".test");
  rmSync(dir, { recursive: true, force: true });
  await esbuild.build({
    absWorkingDir: here,
    entryPoints: tests.map((f) => join("src", f)),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node18",
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: dir,
    define: { global: "globalThis" },
    outExtension: { ".js": ".mjs" },
  });
}
