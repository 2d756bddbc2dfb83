// The server's responses, as described in docs/ui-api.md and docs/protocols.md. Only the fields that the page reads.

/** Usage counts the tokens of model calls. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  reasoning_tokens: number;
  estimated: boolean;
}

export interface StageRecord {
  stage: string;
  agent: string;
  status: "running" | "finished";
  duration: number; // ms
  model: string;
  note: string;
  usage: Usage;
  cost: number | null; // USD; null if a price is unknown
}

export interface PassageRecord {
  n: number;
  label: string;
  document_id: string;
  name: string;
  title: string;
  pages: number[];
  headings: string[];
  text: string;
  tokens: number;
  content_url: string;
  score: number;
  bm25: number | null;
  vector: number | null;
  rerank: number | null;
  rank: number;
  rank_before: number;
  score_before: number;
  sent: boolean; // it was part of the prompt
}

export interface Thoughts {
  query: {
    original: string;
    query: string;
    rewritten: boolean;
    candidate: string;
    ambiguous: boolean;
    confidence: number;
    reason: string;
    context: { word: string; weight: number }[];
  } | null;
  retrieval: {
    mode: string;
    has_vector: boolean;
    matched: number;
    reranked: boolean;
    terms: { word: string; weight: number; idf: number; known: boolean }[];
  } | null;
  passages: PassageRecord[];
  prompt: { model: string; messages: { role: string; text: string; images: number }[] } | null;
  tools: { name: string; arguments: string; text: string; failed: boolean; passages: number; duration: number }[];
  reasoning: string;
}

export interface CitedSpan {
  occurrence: number;
  start: number;
  end: number;
  quote: string;
  supported: boolean;
  stale: boolean;
}

/** Citation is a source that an answer cites by its label. Offsets are UTF-16 code units of the page's text. */
export interface Citation {
  n: number;
  label: string;
  document_id: string;
  name: string;
  title: string;
  url: string;
  namespace: string;
  page: number; // 0 if the format has no pages
  kind: string;
  start: number;
  end: number;
  quote: string;
  passage: string;
  content_url: string;
  supported: boolean;
  reworded?: boolean; // the source says it in other words; set by turnstate.graded, not by the server
  stale: boolean;
  spans: CitedSpan[];
  unplaced?: true; // its spans are not known until the turn has ended (turnstate.complete)
}

export interface Doubt {
  label: string;
  kind: "invented" | "unsupported";
  sentence: string;
  reason: string;
}

export interface CallRecord {
  stage: string;
  provider: string;
  model: string;
  status: string;
  duration: number;
  usage: Usage;
  cost: number | null;
}

export interface TurnRecord {
  id: string;
  namespace: string;
  status: "running" | "completed" | "failed" | "cancelled";
  error: { code: string; message: string } | null;
  question: string;
  answer: string;
  model: string;
  requested_model: string;
  duration: number;
  first_token: number;
  stages: StageRecord[];
  thoughts: Thoughts | null;
  citations: Citation[];
  unsupported: Doubt[];
  follow_ups: string[];
  usage: Usage;
  cost: number | null;
  calls: CallRecord[];
  conversation: { turns: number; tokens: number; cost: number | null } | null;
}

export type PageKind = "image" | "markdown" | "html" | "table" | "slide" | "text";

export interface DocumentRecord {
  id: string;
  namespace: string;
  name: string;
  title: string;
  url: string;
  category: string;
  media_type: string;
  kind: PageKind;
  size: number;
  pages: number;
  chunks: number;
  embedded: number;
  indexed_at: string;
  content_url: string;
  uploaded: boolean;
  notes: string; // which parts could not be read; "" if all could
  attributes?: Record<string, unknown>; // further metadata
}

export interface DocumentList {
  documents: DocumentRecord[];
  next: string;
  total: number;
}

/** AttributeRecord is an attribute with its most frequent values. */
export interface AttributeRecord {
  key: string;
  documents: number;
  values: { value: AttributeValue; documents: number }[];
  more: boolean; // there are more values than are listed
}

export type AttributeValue = string | number | boolean;

/** Wanted is an attribute value to filter documents by. */
export interface Wanted {
  key: string;
  value: AttributeValue;
}

export interface ChunkRecord {
  ordinal: number;
  text: string;
  tokens: number;
  headings: string[];
  spans: { page: number; start: number; end: number }[];
}

export interface ChunkList {
  chunks: ChunkRecord[];
  next: number | null;
  total: number;
}

export interface PageRecord {
  document_id: string;
  number: number;
  count: number;
  label: string;
  kind: PageKind;
  text: string;
  width: number;
  height: number;
  image_url: string;
  blocks: { kind: "heading" | "paragraph" | "lines"; level: number; start: number; end: number }[];
}

/** Box is a rectangle on the picture of a page, in fractions of its width and height. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  range: number;
}

export interface NamespaceRecord {
  name: string;
  documents: number;
  chunks: number;
  default: boolean;
  manage?: boolean; // the caller may change members and rights
  instruct?: boolean; // the caller may change the instructions
}

export interface Problem {
  code: string;
  severity: "info" | "warning" | "error";
  message: string;
}

export type Stage = "inference" | "rewrite" | "rerank" | "summary" | "tools_synth";

export interface SettingRecord {
  name: string;
  title: string;
  help: string;
  type: "integer" | "number" | "boolean" | "text" | "choice";
  min: number;
  max: number;
  step: number;
  default: string | number | boolean | null;
  options: string[];
  needs: string;
}

export interface ServerConfig {
  version: string;
  namespace: string;
  model: string;
  builtin: boolean;
  models: Record<Stage, string[]>;
  defaults: Record<Stage, string>;
  capabilities: Record<string, boolean>;
  limits: { body: number; upload: number; question: number };
  settings: { azure: SettingRecord[]; ragchat: SettingRecord[] };
  documents: number;
  chunks: number;
  ingestion: {
    running: boolean;
    files: number;
    done: number;
    indexed: number;
    skipped: number;
    failed: number;
    embedding: boolean;
    unembedded: number;
  };
  problems: Problem[];
}

/** ChatEntry is an entry in the list of conversations. */
export interface ChatEntry {
  id: string;
  title: string;
  lastMessage?: string;
  lastUpdated: string;
  messageCount: number;
  mode: string;
  pinned?: boolean;
  folder?: string; // folder id
  shared?: boolean; // by link
}

/** Folder holds conversations. */
export interface Folder {
  id: string;
  name: string;
}

/** Prompt is a text saved for reuse. */
export interface Prompt {
  id: string;
  text: string;
}

/** FoundChat is a conversation found by a search. */
export interface FoundChat extends ChatEntry {
  messageId: string;
  snippet: string; // "" when only the title matches
}

/** ModelRecord is a model that a provider offers. */
export interface ModelRecord {
  key: string;
  provider: string;
  model: string;
  endpoint: string;
  pricing: { input_per_mm: number; output_per_mm: number } | null;
}

/** TurnEvent is an event of a turn in the engine's own encoding. */
export interface TurnEvent {
  turn: string;
  seq: number;
  type: string;
  event: Record<string, unknown>;
}

/** ChatLink is the state of a conversation's sharing link. */
export interface ChatLink {
  link: string; // its id; "" if the conversation is not shared
  messages: number; // messages that it shows
  newer: number; // newer messages that it does not show
  shared_at: string | null;
}

/** SharedChat is a shared conversation: messages as they are stored, without what the reader may not see. */
export interface SharedChat {
  title: string;
  shared_at: string;
  messages: { parley?: { left_out: boolean } }[];
}
