// Builds the page into ../internal/webui/dist. Two builds of the same sources are the same bytes: names
// are hashes of contents, and nothing of the machine or the time goes in.
//
//   node build.mjs           the page, minified
//   node build.mjs --watch   the same, again after each change, not minified
//   node build.mjs --test    the unit tests into .test/
import * as esbuild from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../internal/webui/dist");
const mode = process.argv[2] ?? "";

/** The documents of the site, and the script of each. Nothing is shared between them: no browser keeps a file for both. */
const pages = [
  { document: "src/index.html", script: "src/main.tsx" },
  { document: "src/embed/embed.html", script: "src/embed/main.tsx", strings: "src/embed/strings.ts" },
];

/** The script that other sites load has a name that stays, and is no module: it finds its own tag. */
const loader = { ...common(), entryPoints: { embed: "src/embed/loader.ts" }, format: "iife", target: "es2022", outdir: out };

if (mode === "--test") {
  await buildTests();
} else {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, "assets"), { recursive: true });
  const names = {};
  for (const name of ["icon.svg", "icon-192.png", "icon-512.png", "icon-full.png"]) names[name] = copyHashed(`src/${name}`);
  names["manifest.webmanifest"] = copyHashed("src/manifest.webmanifest", names);
  const watching = mode === "--watch";
  for (const options of [...pages.map((page) => optionsOf(page, names)), loader]) {
    const context = await esbuild.context({ ...options, minify: !watching });
    if (watching) await context.watch();
    else await context.rebuild().then(() => context.dispose());
  }
}

/** A script and its style sheet, and what they load on demand. */
function optionsOf(page, names) {
  return {
    ...common(),
    entryPoints: { [page.script.includes("embed") ? "embed" : "app"]: page.script },
    splitting: true,
    define: { global: "globalThis" }, // of libraries that are made for Node too
    format: "esm",
    target: ["es2022", "chrome116", "firefox124", "safari17.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false,
    plugins: [{
      name: "page",
      setup(build) {
        if (page.strings) build.onResolve({ filter: /\/strings\.ts$/ }, () => ({ path: join(here, page.strings) }));
        shareOneFile(build, page.script);
        build.onEnd((result) => writePage(page, names, result));
      },
    }],
  };
}

/**
 * Has each view that is loaded on demand import the page's script, which is there by then: so one file holds everything
 * that a first load takes, where esbuild would make one for each set of views that share something.
 */
function shareOneFile(build, script) {
  build.onResolve({ filter: /\.tsx$/ }, ({ kind, path, resolveDir }) =>
    kind === "dynamic-import" ? { path: join(resolveDir, path), pluginData: { onDemand: true } } : null);
  build.onLoad({ filter: /\.tsx$/ }, ({ path, pluginData }) =>
    pluginData?.onDemand ? { contents: `${readFileSync(path, "utf8")}\nimport ${JSON.stringify(join(here, script))};\n`, loader: "tsx" } : null);
  // As a module of CommonJS it would need functions of esbuild, in a file of their own.
  build.onLoad({ filter: /prism-core\.js$/ }, ({ path }) => ({ contents: `${readFileSync(path, "utf8")}\nexport default Prism;\n` }));
}

function common() {
  return { absWorkingDir: here, bundle: true, charset: "utf8", legalComments: "none" };
}

/** Writes what was built, and the document that loads it. */
function writePage({ document, script: entry }, names, result) {
  if (result.errors.length > 0) return;
  const [made, { cssBundle, imports, inputs }] = Object.entries(result.metafile.outputs).find(([, o]) => o.entryPoint === entry);
  const isEmpty = Object.keys(inputs).length === 0; // all that it would hold is in the file that it imports
  const script = basename(isEmpty ? imports[0].path : made);
  const style = basename(cssBundle); // the views on demand would have it once more
  for (const { path, contents } of result.outputFiles) {
    const name = basename(path);
    if (isEmpty && name === basename(made) || name.endsWith(".css") && name !== style) continue;
    writeFileSync(join(out, "assets", name), contents);
  }
  writeFileSync(join(out, basename(document)), named(readFileSync(join(here, document), "utf8"), { ...names, script, style }));
}

/** Replaces %name% with the address of the file that is called so. */
function named(text, names) {
  return Object.entries(names).reduce((said, [name, file]) => said.replaceAll(`%${name}%`, `/assets/${file}`), text);
}

/** Copies a file under a name with the hash of its content. A text may name other files. */
function copyHashed(source, names) {
  const file = readFileSync(join(here, source));
  const contents = names ? Buffer.from(named(file.toString(), names)) : file;
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();
  const name = basename(source).replace(/(\.\w+)$/, `-${hash}$1`);
  writeFileSync(join(out, "assets", name), contents);
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
