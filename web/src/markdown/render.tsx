// Renders Markdown as elements. All text becomes text nodes; nothing is ever parsed as HTML.
import { Component, h, type ComponentChildren, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { strings } from "../strings.ts";
import { CopyButton } from "../parts/controls.tsx";
import type { Piece } from "./highlight.ts";
import type { MathNode } from "./math.ts";
import { Reader, type Align, type Block, type Inline, type Item, type Labels } from "./parse.ts";

/** Chips renders a citation. `key` identifies its place in the text. */
export type Chips = (label: string, key: string) => VNode;

interface Props {
  text: string;
  labels: Labels;
  chip?: Chips;
  version?: unknown; // a change renders the chips again
}

/** Markdown shows a text that may grow; unchanged blocks are not rendered again. */
export function Markdown({ text, labels, chip, version }: Props) {
  const reader = useRef<Reader | null>(null);
  reader.current ??= new Reader();
  const blocks = reader.current.read(text, labels);
  return (
    <div class="markdown">
      {blocks.map((block) => (
        <OneBlock key={block.start} block={block} chip={chip} version={version} />
      ))}
    </div>
  );
}

interface BlockProps {
  block: Block;
  chip?: Chips;
  version?: unknown;
}

/** OneBlock is rendered again only if its block was parsed again, or `version` changed. */
class OneBlock extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    return next.block !== this.props.block || next.version !== this.props.version;
  }

  override render({ block, chip }: BlockProps) {
    return blockOf(block, chip);
  }
}

function blocksOf(blocks: Block[], chip?: Chips): VNode[] {
  return blocks.map((block) => <OneBlockStatic key={block.start} block={block} chip={chip} />);
}

/** OneBlockStatic is a block inside another one, and is rendered again with it. */
function OneBlockStatic({ block, chip }: BlockProps) {
  return blockOf(block, chip);
}

function blockOf(block: Block, chip?: Chips): VNode {
  switch (block.kind) {
    case "paragraph":
      return <p dir="auto">{inlineOf(block.children, chip, `${block.start}`)}</p>;
    case "heading": {
      // The page's own headings rank above those of an answer.
      const Tag = `h${Math.min(6, block.level + 2)}` as "h3";
      return <Tag class={`h h${block.level}`} dir="auto">{inlineOf(block.children, chip, `${block.start}`)}</Tag>;
    }
    case "code":
      return <CodeBlock language={block.language} text={block.text} whole={!block.open} />;
    case "quote":
      return <blockquote>{blocksOf(block.blocks, chip)}</blockquote>;
    case "list":
      return block.ordered ? (
        <ol start={block.first} dir="auto">{block.items.map((i) => itemOf(i, chip))}</ol>
      ) : (
        <ul dir="auto">{block.items.map((i) => itemOf(i, chip))}</ul>
      );
    case "table":
      return <Table block={block} chip={chip} />;
    case "rule":
      return <hr />;
  }
}

function itemOf(item: Item, chip?: Chips): VNode {
  const only = item.blocks.length === 1 && item.blocks[0]!.kind === "paragraph" ? item.blocks[0] : null;
  return (
    <li key={item.start} class={item.checked === null ? undefined : "task"}>
      {item.checked !== null && <input type="checkbox" checked={item.checked} disabled aria-label={strings.chat.task(item.checked)} />}
      {only && only.kind === "paragraph" ? inlineOf(only.children, chip, `${item.start}`) : blocksOf(item.blocks, chip)}
    </li>
  );
}

function Table({ block, chip }: { block: Extract<Block, { kind: "table" }>; chip?: Chips }) {
  const column = (i: number) => alignment(block.align[i] ?? "");
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={strings.chat.table}>
      <table dir="auto">
        <thead>
          <tr>
            {block.head.map((cell, i) => (
              <th key={i} scope="col" class={column(i)}>
                {inlineOf(cell, chip, `${block.start}.h${i}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, r) => (
            <tr key={r}>
              {row.map((cell, i) => (
                <td key={i} class={column(i)}>
                  {inlineOf(cell, chip, `${block.start}.${r}.${i}`)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const alignment = (align: Align) => (align ? `align-${align}` : undefined);

const maxColoured = 20_000; // characters

/** Returns the highlighted pieces of a complete code block; null until the highlighter is loaded, or if it does not apply. */
function usePieces(language: string, text: string, whole: boolean): Piece[] | null {
  const [pieces, setPieces] = useState<Piece[] | null>(null);
  useEffect(() => {
    let left = false;
    setPieces(null);
    if (language && whole && text.length <= maxColoured) {
      import("./highlight.ts").then(({ piecesOf }) => !left && setPieces(piecesOf(language, text))).catch(() => {}); // not highlighted, then
    }
    return () => {
      left = true;
    };
  }, [language, text, whole]);
  return pieces;
}

function CodeBlock({ language, text, whole }: { language: string; text: string; whole: boolean }) {
  const pieces = usePieces(language, text, whole);
  const [wrapped, setWrapped] = useState(false);
  return (
    <figure class="code">
      <figcaption>
        <span class="language">{language || strings.chat.code}</span>
        <button type="button" class="quiet small" aria-pressed={wrapped} onClick={() => setWrapped(!wrapped)}>
          {strings.chat.wrap}
        </button>
        <CopyButton text={text} label={strings.chat.copyCode} small />
      </figcaption>
      <pre dir="ltr" class={wrapped ? "wrapped" : undefined} tabIndex={0}>
        <code>{pieces ? pieces.map((p, i) => (p.kind ? <span key={i} class={`token ${p.kind}`}>{p.text}</span> : p.text)) : text}</code>
      </pre>
    </figure>
  );
}

/** A formula; shown as its source until the converter is loaded, and if it cannot be parsed. */
function Formula({ text, display, raw }: { text: string; display: boolean; raw: string }) {
  const [math, setMath] = useState<MathNode | null>(null);
  useEffect(() => {
    let left = false;
    import("./math.ts").then(({ parseMath }) => !left && setMath(parseMath(text, display))).catch(() => {}); // its source stays
    return () => void (left = true);
  }, [text, display]);
  if (!math) return <span class="formula" dir="ltr">{raw}</span>;
  return <span class={`formula ${display ? "display" : ""}`} dir="ltr" title={raw} {...(display ? { tabIndex: 0, role: "group", "aria-label": strings.chat.formula } : {})}>{elementOf(math)}</span>;
}

const elementOf = ({ tag, attributes, children }: MathNode): VNode => h(tag, attributes ?? null, children.map((c) => (typeof c === "string" ? c : elementOf(c))));

/** inlineOf renders the contents of a block. */
export function inlineOf(nodes: Inline[], chip: Chips | undefined, key: string): ComponentChildren[] {
  return nodes.map((node, i) => {
    const at = `${key}:${i}`;
    switch (node.kind) {
      case "text":
        return node.text;
      case "code":
        return <code key={at}>{node.text}</code>;
      case "strong":
        return <strong key={at}>{inlineOf(node.children, chip, at)}</strong>;
      case "em":
        return <em key={at}>{inlineOf(node.children, chip, at)}</em>;
      case "del":
        return <del key={at}>{inlineOf(node.children, chip, at)}</del>;
      case "link":
        return (
          <a key={at} href={node.href} target="_blank" rel="noopener noreferrer nofollow">
            {inlineOf(node.children, chip, at)}
          </a>
        );
      case "math":
        return <Formula key={at} text={node.text} display={node.display} raw={node.raw} />;
      case "citation":
        return chip ? chip(node.label, at) : `[${node.label}]`;
      case "break":
        return <br key={at} />;
    }
  });
}
