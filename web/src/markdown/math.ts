// Mathematics: converts the subset of LaTeX that answers use to MathML. The page loads this file when there is a formula to show.
// A formula with an unknown command is not shown in part: parseMath returns null, and the page shows the text as it was written.

/** MathNode is a MathML element. */
export interface MathNode {
  tag: string;
  attributes?: Record<string, string>;
  children: (MathNode | string)[];
}

const maxLength = 4000; // characters
const maxDepth = 80; // of nested groups, environments and arguments

/** Parses a formula; null if it is too long, too deeply nested, or has anything unknown in it. */
export function parseMath(tex: string, display: boolean): MathNode | null {
  if (tex.length > maxLength) return null;
  try {
    const parser = new Parser(tex);
    const body = parser.rows("");
    return node("math", body, display ? { display: "block" } : undefined);
  } catch (error) {
    if (error instanceof Unknown) return null;
    throw error;
  }
}

class Unknown extends Error {}

const node = (tag: string, children: (MathNode | string)[], attributes?: Record<string, string>): MathNode => ({ tag, children, ...(attributes ? { attributes } : {}) });
const row = (children: MathNode[]): MathNode => (children.length === 1 ? children[0]! : node("mrow", children));
const words = (list: string): string[] => list.trim().split(/\s+/);
const pairs = (list: string): Record<string, string> => Object.fromEntries(words(list).map((p) => [p.slice(0, p.lastIndexOf("=")), p.slice(p.lastIndexOf("=") + 1)]));

const letters = pairs(`alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν xi=ξ
  pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π
  Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω infty=∞ partial=∂ nabla=∇ ell=ℓ hbar=ℏ Re=ℜ Im=ℑ aleph=ℵ emptyset=∅ varnothing=∅ degree=° circ=∘ prime=′ top=⊤ bot=⊥
  angle=∠ dots=… ldots=… cdots=⋯ vdots=⋮ ddots=⋱ imath=ı jmath=ȷ square=□ checkmark=✓ Box=□ triangle=△`);

const operators = pairs(`times=× div=÷ cdot=⋅ pm=± mp=∓ ast=∗ star=⋆ bullet=∙ oplus=⊕ otimes=⊗ cup=∪ cap=∩ setminus=∖ wedge=∧ land=∧ vee=∨ lor=∨ neg=¬ lnot=¬
  leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ ll=≪ gg=≫ approx=≈ equiv=≡ sim=∼ simeq=≃ cong=≅ propto=∝ in=∈ notin=∉ ni=∋ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇
  forall=∀ exists=∃ nexists=∄ to=→ rightarrow=→ leftarrow=← gets=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ iff=⟺ mapsto=↦ longrightarrow=⟶
  uparrow=↑ downarrow=↓ rightleftharpoons=⇌ mid=∣ nmid=∤ parallel=∥ perp=⊥ vdash=⊢ models=⊨ therefore=∴ because=∵ colon=: leqslant=⩽ geqslant=⩾ prec=≺ succ=≻ doteq=≐ lt=< gt=>`);

const big = pairs("sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂ bigvee=⋁ bigwedge=⋀");
const integrals = pairs("int=∫ iint=∬ iiint=∭ oint=∮");
const functions = words("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth ln log lg exp arg deg dim ker hom mod");
const limits = words("lim max min sup inf det gcd Pr limsup liminf argmax argmin");
const fences = pairs("{={ }=} langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ lvert=| rvert=| vert=| lVert=‖ rVert=‖ Vert=‖ |=‖ lbrace={ rbrace=} lbrack=[ rbrack=]");
const spaces = pairs(",=0.167em :=0.222em >=0.222em ;=0.278em !=0em quad=1em qquad=2em enspace=0.5em thinspace=0.167em medspace=0.222em thickspace=0.278em");
const accents = pairs("hat=^ widehat=^ tilde=~ widetilde=~ bar=¯ overline=¯ vec=→ overrightarrow=→ dot=˙ ddot=¨ check=ˇ breve=˘ acute=´ grave=`");
const braces: Record<string, [string, string]> = { overbrace: ["mover", "⏞"], underbrace: ["munder", "⏟"], underline: ["munder", "_"] };
const environments: Record<string, [string, string]> = {
  matrix: ["", ""], smallmatrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"],
  cases: ["{", ""], aligned: ["", ""], align: ["", ""], "align*": ["", ""], split: ["", ""], gathered: ["", ""], gather: ["", ""], "gather*": ["", ""], array: ["", ""],
  equation: ["", ""], "equation*": ["", ""],
};

// The alphabets have their own code points from U+1D400 on. `odd` has the letters that were in Unicode before, elsewhere.
const alphabets: Record<string, { upper: number; lower: number; digit: number; odd: Record<string, string> }> = {
  mathbb: { upper: 0x1d538, lower: 0x1d552, digit: 0x1d7d8, odd: pairs("C=ℂ H=ℍ N=ℕ P=ℙ Q=ℚ R=ℝ Z=ℤ") },
  mathbf: { upper: 0x1d400, lower: 0x1d41a, digit: 0x1d7ce, odd: {} },
  mathcal: { upper: 0x1d49c, lower: 0x1d4b6, digit: 0, odd: pairs("B=ℬ E=ℰ F=ℱ H=ℋ I=ℐ L=ℒ M=ℳ R=ℛ e=ℯ g=ℊ o=ℴ") },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e, digit: 0, odd: pairs("C=ℭ H=ℌ I=ℑ R=ℜ Z=ℨ") },
  mathsf: { upper: 0x1d5a0, lower: 0x1d5ba, digit: 0x1d7e2, odd: {} },
  mathtt: { upper: 0x1d670, lower: 0x1d68a, digit: 0x1d7f6, odd: {} },
};
const aliases: Record<string, string> = { boldsymbol: "mathbf", bm: "mathbf", mathscr: "mathcal", Bbb: "mathbb" };

function inAlphabet(name: string, text: string): string {
  const a = alphabets[name]!;
  return [...text].map((c) => {
    const at = (from: number, first: string) => (from ? String.fromCodePoint(from + c.charCodeAt(0) - first.charCodeAt(0)) : c);
    if (Object.hasOwn(a.odd, c)) return a.odd[c]!;
    return /[A-Z]/.test(c) ? at(a.upper, "A") : /[a-z]/.test(c) ? at(a.lower, "a") : /[0-9]/.test(c) ? at(a.digit, "0") : c;
  }).join("");
}

/** Returns a node with its letters replaced by those of an alphabet. */
const changed = (name: string, n: MathNode): MathNode => ({ ...n, children: n.children.map((c) => (typeof c === "string" ? inAlphabet(name, c) : changed(name, c))) });

const known = (table: Record<string, string>, name: string): string | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly tex: string) {}

  /** Parses up to the end of the text, or to \end{name}: one row, or a table. */
  rows(name: string): MathNode[] {
    const table: MathNode[][][] = [[[]]];
    for (;;) {
      const cell = this.until((t) => t === "" || t === "&" || t === "\\\\" || t === "\\end");
      table.at(-1)!.push(cell);
      const mark = this.next();
      if (mark === "&") continue;
      if (mark === "\\\\") {
        if (this.peek() === "[") this.bracket(); // space between the rows
        table.push([[]]);
        continue;
      }
      if ((mark === "\\end") !== (name !== "") || mark === "\\end" && this.name() !== name) throw new Unknown();
      break;
    }
    const cells = table.map((r) => r.slice(1));
    if (cells.length === 1 && cells[0]!.length === 1) return cells[0]![0]!;
    if (cells.at(-1)!.every((c) => c.length === 0)) cells.pop(); // a trailing \\
    const aligned = /align|split/.test(name) || name === "";
    const trs = cells.map((r) => node("mtr", r.map((c, i) => node("mtd", c, { class: aligned ? (i % 2 ? "math-left" : "math-right") : name === "cases" ? "math-left" : "" }))));
    return [node("mtable", trs, name === "cases" || /matrix|array/.test(name) ? undefined : { displaystyle: "true" })];
  }

  private until(ends: (token: string) => boolean): MathNode[] {
    const nodes: MathNode[] = [];
    while (!ends(this.peek())) {
      const one = this.scripted();
      if (one) nodes.push(one);
    }
    return nodes;
  }

  private skip(): void {
    while (/\s/.test(this.tex[this.at] ?? "")) this.at++;
  }

  private peek(): string {
    const before = this.at;
    const token = this.next();
    this.at = before;
    return token;
  }

  /** Consumes the next token: a command with its backslash, or a character; "" at the end. */
  private next(): string {
    this.skip();
    const rest = this.tex.slice(this.at, this.at + 40);
    const token = /^\\(?:[A-Za-z]+|[^])/.exec(rest)?.[0] ?? [...rest][0] ?? "";
    this.at += token.length;
    return token;
  }

  private expect(token: string): void {
    if (this.next() !== token) throw new Unknown();
  }

  /** Consumes the unparsed text between braces, as in \text{…} and \begin{…}. */
  private name(): string {
    this.expect("{");
    let depth = 1;
    const from = this.at;
    for (; this.at < this.tex.length; this.at++) {
      const c = this.tex[this.at];
      if (c === "\\") this.at++;
      else if (c === "{") depth++;
      else if (c === "}" && --depth === 0) return this.tex.slice(from, this.at++);
    }
    throw new Unknown();
  }

  private bracket(): MathNode[] {
    this.expect("[");
    const nodes = this.until((t) => t === "]" || t === "");
    this.expect("]");
    return nodes;
  }

  /** Parses the argument of a command: a group, or the next token. */
  private argument(): MathNode {
    const first = this.peek();
    if (first === "{") return this.group();
    if (/[0-9]/.test(first)) return node("mn", [this.next()]); // one digit, as in \frac12
    const one = this.atom();
    if (!one) throw new Unknown();
    return one;
  }

  private group(): MathNode {
    this.expect("{");
    const nodes = this.until((t) => t === "}" || t === "");
    this.expect("}");
    return row(nodes);
  }

  /** Parses an atom with its subscript and superscript. */
  private scripted(): MathNode | null {
    const before = this.peek();
    const base = before === "^" || before === "_" ? node("mrow", []) : this.atom();
    if (!base) return null;
    let below: MathNode | null = null;
    let above: MathNode | null = null;
    for (;;) {
      const mark = this.peek();
      if (mark === "_" && !below) {
        this.next();
        below = this.argument();
      } else if (mark === "^" && !above) {
        this.next();
        above = this.argument();
      } else if (mark === "'" && !above) {
        let primes = "";
        for (; this.peek() === "'"; this.next()) primes += "′";
        above = node("mo", [primes]);
      } else if (mark === "\\limits" || mark === "\\nolimits") {
        this.next();
      } else break;
    }
    const wide = base.attributes?.["movablelimits"] !== undefined || base.attributes?.["class"] === "math-brace";
    const tags = wide ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return node(tags[2]!, [base, below, above]);
    return below ? node(tags[0]!, [base, below]) : above ? node(tags[1]!, [base, above]) : base;
  }

  private atom(): MathNode | null {
    if (++this.depth > maxDepth) throw new Unknown();
    const one = this.token(this.next());
    this.depth--;
    return one;
  }

  private token(token: string): MathNode | null {
    if (token === "" || token === "}" || token === "&" || token === "^" || token === "_") throw new Unknown();
    if (token === "{") {
      this.at--;
      return this.group();
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/[0-9]/.test(token)) {
      const more = /^[0-9]*(?:[.,][0-9]+)*/.exec(this.tex.slice(this.at))![0];
      this.at += more.length;
      return node("mn", [token + more]);
    }
    if (token === "~") return node("mspace", [], { width: "0.333em" });
    if (token === "-") return node("mo", ["−"]);
    if (/\p{L}/u.test(token)) return node("mi", [token]);
    if (token === "|") return node("mo", ["|"], { stretchy: "false" });
    if (/[()[\]]/.test(token)) return node("mo", [token], { stretchy: "false" });
    return node("mo", [token]);
  }

  private command(name: string): MathNode | null {
    const letter = known(letters, name);
    if (letter) return node("mi", [letter], /^[A-Z]/.test(name) || /[^\p{L}]/u.test(letter) ? { mathvariant: "normal" } : undefined);
    const operator = known(operators, name);
    if (operator) return node("mo", [operator]);
    const sum = known(big, name);
    if (sum) return node("mo", [sum], { movablelimits: "true" });
    const integral = known(integrals, name);
    if (integral) return node("mo", [integral]);
    if (functions.includes(name)) return node("mi", [name]);
    if (limits.includes(name)) return node("mo", [name], { movablelimits: "true", class: "math-word" });
    const space = known(spaces, name);
    if (space) return node("mspace", [], { width: space });
    const fence = known(fences, name);
    if (fence) return node("mo", [fence], { stretchy: "false" });
    const accent = known(accents, name);
    if (accent) return node("mover", [this.argument(), node("mo", [accent], { stretchy: String(/wide|over/.test(name)) })], { accent: "true" });
    if (Object.hasOwn(braces, name)) return node(braces[name]![0], [this.argument(), node("mo", [braces[name]![1]])], { class: "math-brace" });
    const alphabet = aliases[name] ?? name;
    if (Object.hasOwn(alphabets, alphabet)) return this.inAlphabet(alphabet);
    return this.structure(name);
  }

  private inAlphabet(name: string): MathNode {
    return changed(name, this.argument());
  }

  /** Converts the contents of \text{…}, which may have formulas, groups and escaped characters in it. */
  private words(text: string): MathNode {
    const parts: MathNode[] = [];
    let said = "";
    const flush = () => {
      if (said) parts.push(node("mtext", [said.replace(/^\s|\s$/g, "\u00a0")]));
      said = "";
    };
    for (const [piece, formula, bracketed, escaped] of text.matchAll(/\$([^$]+)\$|\\\(([^]*?)\\\)|\\([^])|[^]/g)) {
      const inner = formula ?? bracketed;
      if (inner !== undefined) {
        flush();
        parts.push(row(this.nested(inner)));
      } else if (escaped !== undefined) {
        if (!/[%$&#_{} ,;]/.test(escaped)) throw new Unknown();
        said += /[ ,;]/.test(escaped) ? " " : escaped;
      } else if (piece === "~") said += "\u00a0";
      else if (piece === "$") throw new Unknown();
      else if (piece !== "{" && piece !== "}") said += piece;
    }
    flush();
    return row(parts);
  }

  private nested(tex: string): MathNode[] {
    const parser = new Parser(tex);
    parser.depth = this.depth + 1;
    return parser.rows("");
  }

  private structure(name: string): MathNode | null {
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
      case "cfrac":
        return node("mfrac", [this.argument(), this.argument()]);
      case "binom":
        return row([node("mo", ["("]), node("mfrac", [this.argument(), this.argument()], { linethickness: "0" }), node("mo", [")"])]);
      case "sqrt": {
        const index = this.peek() === "[" ? this.bracket() : null;
        return index ? node("mroot", [this.argument(), row(index)]) : node("msqrt", [this.argument()]);
      }
      case "text":
      case "textrm":
      case "mbox":
      case "textit":
        return this.words(this.name());
      case "textbf":
        return changed("mathbf", this.words(this.name()));
      case "mathrm":
      case "operatorname":
      case "mathit":
      case "mathop":
        return node(name === "mathrm" || name === "operatorname" ? "mtext" : "mi", [plain(this.name())]);
      case "left":
        return this.fenced();
      case "begin":
        return this.environment();
      case "stackrel":
      case "overset": {
        const above = this.argument();
        return node("mover", [this.argument(), above]);
      }
      case "underset": {
        const below = this.argument();
        return node("munder", [this.argument(), below]);
      }
      case "pmod":
        return row([node("mo", ["("]), node("mi", ["mod"]), node("mspace", [], { width: "0.222em" }), this.argument(), node("mo", [")"])]);
      case "boxed":
        return this.argument();
      case "displaystyle":
      case "textstyle":
      case "big":
      case "Big":
      case "bigl":
      case "bigr":
      case "Bigl":
      case "Bigr":
      case "nonumber":
        return null;
      case " ":
        return node("mspace", [], { width: "0.333em" });
      case "%":
      case "$":
      case "#":
      case "&":
      case "_":
        return node("mo", [name]);
    }
    throw new Unknown();
  }

  private fenced(): MathNode {
    const open = this.delimiter();
    const nodes = this.until((t) => t === "\\right" || t === "");
    this.expect("\\right");
    const close = this.delimiter();
    const of = (text: string) => (text ? [node("mo", [text], { stretchy: "true", fence: "true" })] : []);
    return node("mrow", [...of(open), ...nodes, ...of(close)]);
  }

  private delimiter(): string {
    const token = this.next();
    if (token === ".") return "";
    if (/^[()[\]|/<>]$/.test(token)) return token === "<" ? "⟨" : token === ">" ? "⟩" : token;
    const fence = token.startsWith("\\") ? known(fences, token.slice(1)) : undefined;
    if (!fence) throw new Unknown();
    return fence;
  }

  private environment(): MathNode {
    const name = this.name();
    if (!Object.hasOwn(environments, name)) throw new Unknown();
    if (name === "array") this.name(); // the alignment of its columns
    const [open, close] = environments[name]!;
    const of = (text: string) => (text ? [node("mo", [text], { stretchy: "true", fence: "true" })] : []);
    const body = this.rows(name);
    return node("mrow", [...of(open), ...body, ...of(close)]);
  }
}

/** Returns the text of a name, which must not contain commands. */
function plain(text: string): string {
  if (/[\\{}^_]/.test(text)) throw new Unknown();
  return text.replace(/~/g, "\u00a0");
}
