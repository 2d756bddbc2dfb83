import assert from "node:assert/strict";
import { test } from "node:test";
import { documentHref, inline, parse, Reader, safeHref, type Block, type Inline } from "./parse.ts";

/** Writes a tree in a line, to compare it. */
function shown(blocks: Block[]): string {
  return blocks.map(one).join(" ");
}

function one(b: Block): string {
  switch (b.kind) {
    case "paragraph":
      return `p(${words(b.children)})`;
    case "heading":
      return `h${b.level}(${words(b.children)})`;
    case "code":
      return `code[${b.language}${b.open ? " open" : ""}](${b.text})`;
    case "quote":
      return `quote(${shown(b.blocks)})`;
    case "list":
      return `${b.ordered ? `ol${b.first}` : "ul"}(${b.items.map((i) => `${i.checked === null ? "" : i.checked ? "[x]" : "[ ]"}${shown(i.blocks)}`).join(" | ")})`;
    case "table":
      return `table[${b.align.map((a) => a || "-").join()}](${[b.head, ...b.rows].map((r) => r.map(words).join(" ; ")).join(" / ")})`;
    case "rule":
      return "hr";
  }
}

function words(nodes: Inline[]): string {
  return nodes
    .map((n) => {
      switch (n.kind) {
        case "text":
          return n.text;
        case "code":
          return `code(${n.text})`;
        case "math":
          return `math(${n.text})`;
        case "citation":
          return `cite(${n.label})`;
        case "break":
          return "br";
        case "link":
          return `a<${n.href}>(${words(n.children)})`;
        default:
          return `${n.kind}(${words(n.children)})`;
      }
    })
    .join("");
}

const blocks: Record<string, string> = {
  "One.\n\nTwo\nlines.": "p(One.) p(Two\nlines.)",
  "# Title #\nText": "h1(Title) p(Text)",
  "####### seven": "p(####### seven)",
  "```go\na := 1\n\nb\n```\nafter": "code[go](a := 1\n\nb) p(after)",
  "```\nopen": "code[ open](open)",
  "~~~\n```\n~~~": "code[](```)",
  "- a\n- b\n  more\n- c": "ul(p(a) | p(b\nmore) | p(c))",
  "- a\n\n- b\n\ntext": "ul(p(a) | p(b)) p(text)",
  "- a\n  - b\n    - c\n- d": "ul(p(a) ul(p(b) ul(p(c))) | p(d))",
  "3. a\n4. b": "ol3(p(a) | p(b))",
  "- [x] done\n- [ ] not": "ul([x]p(done) | [ ]p(not))",
  "Text:\n- a\n- b": "p(Text:) ul(p(a) | p(b))",
  "The year was\n1990. It rained.": "p(The year was\n1990. It rained.)",
  "> a\n> - b\n\nc": "quote(p(a) ul(p(b))) p(c)",
  "a\n\n---\n\nb": "p(a) hr p(b)",
  "| A | B |\n|:--|--:|\n| 1 | 2 \\| 3 |\n| 4 |\n\nx": "table[left,right](A ; B / 1 ; 2 | 3 / 4 ; ) p(x)",
  "a | b": "p(a | b)",
  "<b>bold</b> & <script>": "p(<b>bold</b> & <script>)",
  "1. a\n\n   code\n\n2. b": "ol1(p(a) p(code) | p(b))",
  "": "",
};

for (const [text, want] of Object.entries(blocks)) {
  test(`blocks of ${JSON.stringify(text)}`, () => assert.equal(shown(parse(text)), want));
}

const inlines: Record<string, string> = {
  "**bold** and *it* and ***both***": "strong(bold) and em(it) and strong(em(both))",
  "snake_case_name _it_": "snake_case_name em(it)",
  "2 * 3 * 4": "2 * 3 * 4",
  "a ** b **": "a ** b **",
  "~~gone~~ ~not~": "del(gone) ~not~",
  "`a*b*` and ``x`y``": "code(a*b*) and code(x`y)",
  "open `tick": "open `tick",
  "[Go](https://go.dev \"t\")": "a<https://go.dev/>(Go)",
  "[bad](javascript:alert(1))": "bad",
  "[bad](java\tscript:alert(1))": "[bad](java    script:alert(1))",
  "[rel](/etc/passwd)": "rel",
  "![pic](https://x.example/a.png)": "a<https://x.example/a.png>(pic)",
  "![pic](data:image/png;base64,AA)": "pic",
  "see https://x.example/a(b). Yes": "see a<https://x.example/a(b)>(https://x.example/a(b)). Yes",
  "<https://x.example> <javascript:alert(1)> <br>x": "a<https://x.example/>(https://x.example) <javascript:alert(1)> brx",
  "<mailto:a@b.example>": "a<mailto:a@b.example>(mailto:a@b.example)",
  "\\*not\\* \\[x\\]": "*not* [x]",
  "line  \nbreak\nsoft": "linebrbreak\nsoft",
  "[a]": "[a]",
};

for (const [text, want] of Object.entries(inlines)) {
  test(`inline of ${JSON.stringify(text)}`, () => assert.equal(words(inline(text.replace(/\t/g, "    "))), want));
}

test("citations are those that the answer may have, and nothing else", () => {
  const labels = new Set(["a.pdf#page=2", "notes [old].md"]);
  assert.equal(words(inline("Yes [a.pdf#page=2][notes [old].md], no [b.pdf].", labels)), "Yes cite(a.pdf#page=2)cite(notes [old].md), no [b.pdf].");
  assert.equal(shown(parse("- **x** [a.pdf#page=2]", labels)), "ul(p(strong(x) cite(a.pdf#page=2)))");
});

test("a text that grows reads the same as the whole, at every length", () => {
  const text = "# T\n\nSome *text* [a.md].\n\n- one\n- two\n  - three\n\n```js\nlet x\n```\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n> q\n\nEnd https://x.example.\n";
  const labels = new Set(["a.md"]);
  const reader = new Reader();
  for (let n = 1; n <= text.length; n++) {
    assert.deepEqual(reader.read(text.slice(0, n), labels), parse(text.slice(0, n), labels), `at ${n}`);
  }
});

test("what did not change is not read again", () => {
  const reader = new Reader();
  const before = reader.read("One.\n\nTwo", new Set());
  const labels = new Set<string>();
  const first = reader.read("One.\n\nTwo", labels);
  const after = reader.read("One.\n\nTwo and more", labels);
  assert.notEqual(before[0], first[0]); // other labels: read anew
  assert.equal(first[0], after[0]);
  assert.notEqual(first[1], after[1]);
});

test("links lead only where they may", () => {
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:x", "//evil.example", "/x", "", "http://", "intent:x"]) {
    assert.equal(safeHref(bad), "", bad);
  }
  assert.equal(safeHref("HTTPS://Example.org/ä"), "https://example.org/%C3%A4");
  assert.equal(documentHref("/content/a/b.pdf?namespace=x#page=3"), "/content/a/b.pdf?namespace=x#page=3");
  for (const bad of ["//evil.example/content/", "/\\evil.example", "/content/\\x", "javascript:1", "/api/x"]) assert.equal(documentHref(bad), "", bad);
});

test("hostile texts take linear time", () => {
  for (const piece of ["*a", "**a ", "_", "[", "![", "`", "``` ", "[a](", "<", "~~a", "> ", "- ", "| ", "\\", "[a][", "*_~`"]) {
    const begun = performance.now();
    parse(piece.repeat(20_000), new Set(["x"]));
    parse((piece + "\n").repeat(3_000), new Set(["x"]));
    // A quadratic reader needs minutes for these.
    assert.ok(performance.now() - begun < 8000, `${JSON.stringify(piece)} took ${performance.now() - begun} ms`);
  }
});
