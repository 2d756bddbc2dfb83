// What Chromium says of installing the page as a program.
export default async function ({ open }) {
  const { page, context, seen } = await open();
  const devtools = await context.newCDPSession(page);
  const manifest = await devtools.send("Page.getAppManifest");
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  const { icons } = JSON.parse(manifest.data ?? "{}");
  const sizes = await page.evaluate((list) => Promise.all(list.map(async ({ src }) => {
    const picture = new Image();
    picture.src = src;
    await picture.decode();
    return `${picture.naturalWidth}x${picture.naturalHeight}`;
  })), icons.filter((i) => i.type === "image/png"));
  const workers = await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length);
  return { errors: [...manifest.errors.map((e) => e.message), ...installabilityErrors.map((e) => e.errorId)], icons, sizes, workers, seen };
}
