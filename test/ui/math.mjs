// Formulas in answers become MathML under the page's policy; prices, and what cannot be read, stay text.
import { mkdirSync } from "node:fs";
import { axe, told } from "./axe.mjs";

const content = `The roots are $x_{1,2} = \\frac{-b \\pm \\sqrt{b^2-4ac}}{2a}$, and \\(e^{i\\pi}+1=0\\).

$$
\\sum_{i=1}^{n} i
= \\frac{n(n+1)}{2}
- 0
$$

\\[ A = \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}, \\quad f(x) = \\begin{cases} x & \\text{if } x > 0 \\\\ 0 & \\text{else} \\end{cases} \\]

$$\\begin{aligned} a &= b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s \\\\ &= \\int_0^\\infty e^{-x^2}\\,dx \\end{aligned}$$

It costs between $5 and $6. Unknown: $\\href{javascript:__ran()}{x}$.`;

export default async function ({ base, open, shots }) {
  const json = { "Content-Type": "application/json", Origin: base };
  const { id } = await (await fetch(`${base}/api/chat-history`, { method: "POST", headers: json, body: "{}" })).json();
  const messages = [{ messageId: "q", parentId: "", role: "user", content: "Formulas?" }, { messageId: "a", parentId: "q", role: "assistant", content }];
  await fetch(`${base}/api/chat-history/${id}/messages`, { method: "PUT", headers: json, body: JSON.stringify({ messages }) });
  const violations = [];
  const out = {};
  for (const bypassCSP of [false, true]) {
    const { page, seen } = await open({ context: { bypassCSP }, path: `/#/chat/${id}` });
    page.on("console", (m) => /Content Security Policy/.test(m.text()) && violations.push(m.text()));
    await page.waitForFunction(() => document.querySelector(".formula math mfrac") && document.querySelectorAll(".formula math").length >= 5);
    out.formulas = await page.locator(".formula math").count();
    out.namespace = await page.evaluate(() => document.querySelector(".formula mfrac").namespaceURI);
    out.drawn = await page.evaluate(() => { const { height } = document.querySelector(".formula mfrac").getBoundingClientRect(); return height > 20; });
    out.text = await page.locator(".answer .markdown p").last().innerText();
    for (const [width, height] of [[390, 844], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        if (shots && bypassCSP) {
          mkdirSync(shots, { recursive: true });
          await page.screenshot({ path: `${shots}/math-${width}-${colorScheme}.png` });
        }
      }
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1)) violations.push(`${width}: wider than the screen`);
    }
    if (bypassCSP) violations.push(...(await axe(page)).violations.map(told));
    out.seen = seen;
  }
  return { ...out, violations };
}
