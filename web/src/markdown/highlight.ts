// Syntax highlighting. The page loads this file when there is code to highlight.
import "./prism.ts";
import Prism from "prismjs/components/prism-core";
import "prismjs/components/prism-clike";
import "prismjs/components/prism-markup";
import "prismjs/components/prism-css";
import "prismjs/components/prism-javascript";
import "prismjs/components/prism-typescript";
import "prismjs/components/prism-json";
import "prismjs/components/prism-bash";
import "prismjs/components/prism-c";
import "prismjs/components/prism-cpp";
import "prismjs/components/prism-csharp";
import "prismjs/components/prism-go";
import "prismjs/components/prism-java";
import "prismjs/components/prism-python";
import "prismjs/components/prism-rust";
import "prismjs/components/prism-sql";
import "prismjs/components/prism-yaml";

/** Piece is a token of code and its kind, "" for plain text. */
export interface Piece {
  kind: string;
  text: string;
}

const aliases: Record<string, string> = { golang: "go", sh: "bash", shell: "bash", console: "bash", "c++": "cpp", "c#": "csharp", jsonc: "json", rs: "rust" };

/** Splits code into pieces; null if the language is unknown. */
export function piecesOf(language: string, text: string): Piece[] | null {
  const name = language.toLowerCase();
  const known = aliases[name] ?? name;
  const grammar = Object.hasOwn(Prism.languages, known) ? Prism.languages[known] : undefined;
  if (typeof grammar !== "object" || grammar === null) return null;
  const pieces: Piece[] = [];
  for (const token of Prism.tokenize(text, grammar)) add(pieces, token, "");
  return pieces;
}

function add(pieces: Piece[], token: Prism.Content, kind: string): void {
  if (typeof token === "string") pieces.push({ kind, text: token });
  else if (Array.isArray(token)) for (const inner of token) add(pieces, inner, kind);
  else add(pieces, token.content, token.type);
}
