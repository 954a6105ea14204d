// What the runner of models takes and gives. The values are those of attnviz.core.trace; offsets count code points, as Python's do.
import type { Env, InferenceSession, Tensor } from "onnxruntime-web/wasm";
import type { Tokenizer } from "@huggingface/tokenizers";

export interface Token {
  text: string;
  start: number;
  end: number;
  special: boolean;
  /** Which text it came from: 0 is the first, 1 the second of a pair. */
  segment: number;
  /** Number of the word it is part of, within its segment; null: it is a word of its own. */
  word: number | null;
  /** As the vocabulary writes it, where that is another text. */
  piece: string;
}

export type Kind = "encoder" | "decoder" | "cross";

export interface AttentionMap {
  kind: Kind;
  queries: Token[];
  keys: Token[];
  layers: number;
  heads: number;
  causal: boolean;
  /** In the order query, key; written into an array that is given, where they have to be unpacked. */
  weights(layer: number, head: number, into?: Float32Array): Float32Array;
  /** What one query gives to all keys, of which there are so many. */
  row(layer: number, head: number, query: number, keys: number): Float32Array;
  /** Gives the memory of a long text back: the map cannot be read any more. */
  release(): void;
}

export interface Prompt {
  text: string;
  pair?: string | null;
  question?: string | null;
  target?: string | null;
}

export interface Request extends Prompt {
  /** Hypotheses that a translation keeps at every step; 1 is greedy. */
  beam?: number;
  /** How many words a summary keeps, or with `share` how many percent of them; and how many sentences. */
  words?: number;
  sentences?: number;
  share?: boolean;
  /** Names of the pieces that were written behind a text; how further ones are chosen, and how many. */
  written?: string;
  sampling?: import("./sampling.js").Sampling;
  tokens?: number;
  /** Whether nothing speaks against English, of a model that reads it: a confidence was measured on English texts. */
  isEnglish?: boolean;
}

export interface Learned {
  /** A row for each number that it makes of a state. */
  weight: number[][];
  bias: number[];
}

export interface HeadInputs {
  states: number[][];
  query: Learned;
  key: Learned;
  value: Learned;
}

export interface Trace<Extra = unknown> {
  model: string;
  revision: string;
  prompt: Prompt;
  output: string;
  extra: Extra;
  maps: AttentionMap[];
  /** The code point at which a text was cut, because the model reads no more; null: it was read whole. */
  cut: number | null;
  cutPair: number | null;
  /** Whether nothing speaks against the language that the model reads. */
  isEnglish: boolean;
}

export interface Model {
  name: string;
  card: Card;
  trace(request: Request): Promise<Trace>;
  /** What a head of an encoder reads, and its rows of the matrices that make queries, keys and values; of other models, nothing. */
  inspect?(request: Request, layer: number, head: number): Promise<HeadInputs>;
  /** Writes on, until it is stopped: the names of the pieces behind a text. `onToken` is given what is written so far. */
  write?(request: Request, onToken: (text: string, count: number) => void, isStopped: () => boolean): Promise<string[]>;
  /** How many bytes `complete` would fetch. */
  left(): Promise<number>;
  /** Fetches what later texts may need besides, so that all works without a network. */
  complete(): Promise<void>;
  /** Gives the memory back. */
  release(): Promise<void>;
}

export interface Card {
  name: string;
  n_layers: number;
  n_heads: number;
  max_tokens: number;
  revision: string;
  selects: [number, number] | null;
  [fact: string]: unknown;
}

/** A compressed file: its path from the folder of all models, its sizes compressed and not, and the SHA-256 as it is fetched. */
export interface File {
  file: string;
  bytes: number;
  size: number;
  sha256: string;
}

export interface GraphFile extends File {
  /** How many numbers its weights are, and where each begins. */
  weights: { size: number; offsets: Record<string, number> };
}

export interface RowFiles {
  width: number;
  rows_per_file: number;
  files: File[];
}

/** The small words that tell English from other languages. */
export interface SmallWords {
  english: string[];
  others: string[][];
  foreign: string[];
  articles: string[];
}

export interface Manifest {
  name: string;
  task: "encode" | "translate" | "answer" | "summarize" | "write";
  /** How far a weight may be from the app's own. */
  bound: number;
  card: Card;
  /** Of a model that reads English. */
  small_words: SmallWords | null;
  version: string;
  graphs: Record<string, GraphFile>;
  parts: File[];
  rows: RowFiles | null;
  tokenizers: Record<string, File>;
  options: Record<string, any>;
}

/** What comes from other packages: ONNX Runtime, the tokenizers, and where files are fetched. */
export interface Runtime {
  ort: { InferenceSession: typeof InferenceSession; Tensor: typeof Tensor; env: Env };
  Tokenizer: typeof Tokenizer;
  /** `get_sentence_boundaries` of sentencex-wasm, for the summarizer. */
  segmenter?: (language: string, text: string) => { text: string }[];
  fetch?: (url: string) => Promise<Response>;
  /** Whether heads will be looked into: the matrices that they are made of are kept besides. */
  inspects?: boolean;
}

/** Called with the bytes that have come and those that will, compressed. */
export type Progress = (received: number, total: number) => void;
