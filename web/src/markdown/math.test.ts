import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMath, type MathNode } from "./math.ts";
import { parse, type Inline } from "./parse.ts";

const markup = (n: MathNode | string): string =>
  typeof n === "string" ? n : `<${n.tag}>${n.children.map(markup).join("")}</${n.tag}>`;
const made = (tex: string): string => {
  const math = parseMath(tex, false);
  return math ? markup(math).replace(/^<math>|<\/math>$/g, "") : "unknown";
};

/** What a text is read as: formulas in ⟦⟧, display ones in ⟦⟦⟧⟧. */
const read = (text: string): string =>
  parse(text).map((b) => (b.kind === "paragraph" ? b.children.map(shown).join("") : `<${b.kind}>`)).join("|");
const shown = (n: Inline): string =>
  n.kind === "math" ? (n.display ? `⟦⟦${n.text.trim()}⟧⟧` : `⟦${n.text}⟧`) : n.kind === "text" || n.kind === "code" ? n.text : `<${n.kind}>`;

test("formulas become MathML", () => {
  for (const [tex, want] of [
    ["x^2", "<msup><mi>x</mi><mn>2</mn></msup>"],
    ["a_{ij}^n", "<msubsup><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow><mi>n</mi></msubsup>"],
    ["\\frac{a}{b}", "<mfrac><mi>a</mi><mi>b</mi></mfrac>"],
    ["\\sqrt[3]{x}", "<mroot><mi>x</mi><mn>3</mn></mroot>"],
    ["\\sum_{i=1}^n i", "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>"],
    ["f'(x)", "<msup><mi>f</mi><mo>′</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>"],
    ["\\mathbb{R}", "<mi>ℝ</mi>"],
    ["\\mathbf{A1}", "<mrow><mi>𝐀</mi><mn>𝟏</mn></mrow>"],
    ["\\left( x \\right.", "<mrow><mo>(</mo><mi>x</mi></mrow>"],
    ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "<mrow><mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable><mo>)</mo></mrow>"],
    ["\\text{if } x > 0", "<mtext>if\u00a0</mtext><mi>x</mi><mo>></mo><mn>0</mn>"],
    ["\\text{if } x > 0 \\text{ and $y_1$ \\{sic\\}, 5~\\%}", "<mtext>if\u00a0</mtext><mi>x</mi><mo>></mo><mn>0</mn><mrow><mtext>\u00a0and\u00a0</mtext><msub><mi>y</mi><mn>1</mn></msub><mtext>\u00a0{sic}, 5\u00a0%</mtext></mrow>"],
    ["\\textbf{a {b}}", "<mtext>𝐚 𝐛</mtext>"],
    ["\\overline{AB}", "<mover><mrow><mi>A</mi><mi>B</mi></mrow><mo>¯</mo></mover>"],
  ] as const) assert.equal(made(tex), want, tex);
});

test("a fraction of two digits takes one each", () => {
  assert.equal(made("\\frac12"), "<mfrac><mn>1</mn><mn>2</mn></mfrac>");
  assert.equal(made("x^12"), "<msup><mi>x</mi><mn>1</mn></msup><mn>2</mn>");
});

test("what is not known stays text, whatever it is", () => {
  for (const tex of ["\\href{javascript:alert(1)}{x}", "\\unknown", "{", "}", "\\frac{1}", "\\left(", "x^", "\\begin{x}\\end{x}", "\\begin{matrix}", "&&\\end{a}", "\\constructor", "\\__proto__", "\\toString", "{".repeat(500), "x_".repeat(900), "\\bar".repeat(900) + "x", "\\sqrt".repeat(700) + "x", "\\text{\\emph{x}}", "\\text{5$}", "\\text{$".repeat(90) + "x"]) {
    assert.equal(parseMath(tex, true), null, tex.slice(0, 40));
  }
  const math = parseMath("<script>alert(1)</script>", false)!;
  assert.ok(math.children.every((c) => typeof c !== "string" && /^m[ion]$/.test(c.tag)));
});

test("formulas are found, and prices, paths and brackets are not", () => {
  for (const [text, want] of [
    ["The area is $\\pi r^2$ here", "The area is ⟦\\pi r^2⟧ here"],
    ["With $x$ and $y_1$.", "With ⟦x⟧ and ⟦y_1⟧."],
    ["\\(a+b\\) and \\[c^2\\]", "⟦a+b⟧ and ⟦⟦c^2⟧⟧"],
    ["So $$E=mc^2$$ holds", "So ⟦⟦E=mc^2⟧⟧ holds"],
    ["$$\na\n= b\n- c\n$$", "⟦⟦a\n= b\n- c⟧⟧"],
    ["$2x + 3 = 7$", "⟦2x + 3 = 7⟧"],
    ["between $5 and $6", "between $5 and $6"],
    ["It costs $5, or 5$ more", "It costs $5, or 5$ more"],
    ["$5-$6, US$5 and A$7", "$5-$6, US$5 and A$7"],
    ["$1,000 in cash + $2,000 later", "$1,000 in cash + $2,000 later"],
    ["$20 = 20 euros, and 30 = 30$ then", "$20 = 20 euros, and 30 = 30$ then"],
    ["set $HOME/bin:$PATH or $A and $B", "set $HOME/bin:$PATH or $A and $B"],
    ["`$x$` is code", "$x$ is code"],
    ["\\$x\\$ and \\[1\\] and \\[a note\\]", "$x$ and [1] and [a note]"],
    ["$$ 5 is no end", "$$ 5 is no end"],
    ["$x", "$x"],
    ["costs $$5 and $$6 more", "costs $$5 and $$6 more"],
    ["costs $$5 and $$ more", "costs $$5 and $$ more"],
    ["US$$5 = 4 and 6 = US$$7, kill $$ or echo $$", "US$$5 = 4 and 6 = US$$7, kill $$ or echo $$"],
    ["from $5 to $10, or 5$ to 10$", "from $5 to $10, or 5$ to 10$"],
    ["\\(TCP/IP\\), \\(and/or\\), \\(C++\\) and \\(2 days\\)", "(TCP/IP), (and/or), (C++) and (2 days)"],
    ["\\(a/b\\), \\(n-1\\), \\(3\\), \\(R^+\\) and \\(f(x)\\)", "⟦a/b⟧, ⟦n-1⟧, ⟦3⟧, ⟦R^+⟧ and ⟦f(x)⟧"],
    ["$$Profit = Revenue - Cost$$ and $$\\text{rate} = 5$$ and $$42$$", "⟦⟦Profit = Revenue - Cost⟧⟧ and ⟦⟦\\text{rate} = 5⟧⟧ and ⟦⟦42⟧⟧"],
  ] as const) assert.equal(read(text), want, text);
});

test("a citation that is written into a formula follows it", () => {
  const labels = new Set(["a.pdf#page=4", "b[1].md"]);
  const cited = (text: string) => parse(text, labels).map((b) => (b.kind === "paragraph" ? b.children.map((n) => (n.kind === "citation" ? `<${n.label}>` : shown(n))).join("") : "")).join("|");
  for (const [text, want] of [
    ["So $x = 5 [a.pdf#page=4]$ holds", "So ⟦x = 5⟧<a.pdf#page=4> holds"],
    ["\\(x^2 [b[1].md]\\) and \\[a_{[i]} = 1 [a.pdf#page=4][b[1].md]\\]", "⟦x^2⟧<b[1].md> and ⟦⟦a_{[i]} = 1⟧⟧<a.pdf#page=4><b[1].md>"],
    ["$$\na = b [a.pdf#page=4]\n$$", "⟦⟦a = b⟧⟧<a.pdf#page=4>"],
    ["\\([a.pdf#page=4]\\)", "(<a.pdf#page=4>)"],
  ] as const) assert.equal(cited(text), want, text);
});

test("a long text of dollars and brackets is read in time", () => {
  const began = process.cpuUsage().user;
  for (const piece of ["$", "$a ", "\\(", "$$", "$\\"]) parse(piece.repeat(20_000));
  assert.ok(process.cpuUsage().user - began < 20e6);
});
