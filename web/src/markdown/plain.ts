// Markdown as a single line of plain text.
import { parse, type Block, type Inline } from "./parse.ts";

export function plainText(markdown: string): string {
  return parse(markdown).map(ofBlock).join(" ").replace(/\s+/g, " ").trim();
}

function ofBlock(block: Block): string {
  switch (block.kind) {
    case "paragraph":
    case "heading":
      return ofInline(block.children);
    case "code":
      return block.text;
    case "quote":
      return block.blocks.map(ofBlock).join(" ");
    case "list":
      return block.items.map((i) => i.blocks.map(ofBlock).join(" ")).join(" ");
    case "table":
      return [block.head, ...block.rows].map((row) => row.map(ofInline).join(" ")).join(" ");
    case "rule":
      return "";
  }
}

function ofInline(nodes: Inline[]): string {
  return nodes.map((n) => {
    switch (n.kind) {
      case "text":
      case "code":
        return n.text;
      case "math":
        return n.raw;
      case "citation":
        return `[${n.label}]`;
      case "break":
        return " ";
      default:
        return ofInline(n.children);
    }
  }).join("");
}
