// What the server sends, as docs/ui-api.md and docs/protocols.md describe it. Only what the page reads.

/** Usage is tokens of model calls. */
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
  cost: number | null; // USD, null where a price is not known
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
  sent: boolean; // the model was given it
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

/** Citation is a label in the answers. Offsets count UTF-16 units of the text of its page. */
export interface Citation {
  n: number;
  label: string;
  document_id: string;
  name: string;
  title: string;
  url: string;
  namespace: string;
  page: number; // 0 where the format has no pages
  kind: string;
  start: number;
  end: number;
  quote: string;
  passage: string;
  content_url: string;
  supported: boolean;
  reworded?: boolean; // the page says it in other words; only the page's own grade (turnstate.graded)
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
  notes: string; // what could not be read of it
  attributes?: Record<string, unknown>; // what else it says of itself
}

export interface DocumentList {
  documents: DocumentRecord[];
  next: string;
  total: number;
}

/** An attribute with the values that most documents have. */
export interface AttributeRecord {
  key: string;
  documents: number;
  values: { value: AttributeValue; documents: number }[];
  more: boolean; // there are other values
}

export type AttributeValue = string | number | boolean;

/** A value that documents are to have. */
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

/** Box is a place on a page's picture, in fractions of its width and height. */
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
  instruct?: boolean; // and the instructions
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

/** ChatEntry is a line of the list of conversations. */
export interface ChatEntry {
  id: string;
  title: string;
  lastMessage?: string;
  lastUpdated: string;
  messageCount: number;
  mode: string;
  pinned?: boolean;
  folder?: string; // its id
  shared?: boolean; // by a link
}

/** Folder holds conversations. */
export interface Folder {
  id: string;
  name: string;
}

/** Prompt is a text that somebody keeps to use again. */
export interface Prompt {
  id: string;
  text: string;
}

/** FoundChat is a conversation that a search has found. */
export interface FoundChat extends ChatEntry {
  messageId: string;
  snippet: string; // "" when only the title matches
}

/** ModelRecord is a model that a provider has. */
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

/** ChatLink is the link by which a conversation is shared. */
export interface ChatLink {
  link: string; // "" if it is not shared
  messages: number; // that it shows
  newer: number; // messages that it does not show
  shared_at: string | null;
}

/** SharedChat is a conversation as a link shows it: messages as they are stored, without what the reader may not see. */
export interface SharedChat {
  title: string;
  shared_at: string;
  messages: { parley?: { left_out: boolean } }[];
}
