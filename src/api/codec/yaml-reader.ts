/**
 * Builds a JSON value from YAML as kubectl and the API server do: keys become texts, `<<` merges
 * in place, a key that stands there twice keeps its last value and is reported.
 *
 * Aliases are bounded by what they expand to, in nodes, in characters and in depth: a document
 * whose aliases make up nearly all of a large result is refused.
 */
import {
  type AliasEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from "js-yaml";
import { goQuote } from "#api/meta/go-quote.ts";
import { define } from "./normal-values.ts";
import { TOO_DEEP_YAML, yamlSyntaxError } from "./yaml-errors.ts";
import { readIndented } from "./yaml-indentation.ts";
import { resolveYamlScalar, type YamlScalar } from "./yaml-scalars.ts";

export type ReadYaml =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** `line 6: key "k" already set in map` */
      readonly duplicates: readonly string[];
    }
  | { readonly ok: false; readonly error: string };

/** The first document of the text; what follows it is not looked at. */
export function readYaml(text: string): ReadYaml {
  try {
    return readIndented(text, (indented) => {
      const events = parseEvents(indented, { maxDepth: DEPTH_MAX });
      const reader = new Reader(indented, events);
      const value = reader.document();
      return { ok: true, value, duplicates: reader.duplicates };
    });
  } catch (error) {
    if (error instanceof YamlFault) return { ok: false, error: error.message };
    if (error instanceof YAMLException) return { ok: false, error: yamlSyntaxError(error) };
    throw error;
  }
}

/**
 * Limit of nesting, because the reader recurses once per level. Most of what nests so deep is unknown
 * and dropped: what is kept has a lower limit (JSON_DEPTH_MAX).
 */
const DEPTH_MAX = 1_000;

/** More than this are not collected. */
const DUPLICATES_MAX = 100;

class YamlFault extends Error {}

interface Anchor {
  readonly value: unknown;
  /** What it expands to; undefined while it is still being read. */
  extent: Extent | undefined;
}

interface Extent {
  readonly nodes: number;
  readonly characters: number;
  /** Levels of nesting. */
  readonly height: number;
}

class Reader {
  readonly duplicates: string[] = [];
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #anchors = new Map<string, Anchor>();
  #next = 0;
  #nodes = 0;
  #characters = 0;
  #aliasedNodes = 0;
  /** Levels open here, and the most that were open within the innermost open collection. */
  #depth = 0;
  #deepest = 0;

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
  }

  document(): unknown {
    const first = this.#events[this.#next++];
    if (first === undefined || this.#peek()?.type === EVENT_ID.POP) return null;
    return this.#node();
  }

  #peek(): Event | undefined {
    return this.#events[this.#next];
  }

  #node(): unknown {
    const event = this.#events[this.#next++]!;
    this.#count(1, 0);
    switch (event.type) {
      case EVENT_ID.SCALAR:
        return this.#scalar(event);
      case EVENT_ID.ALIAS:
        return this.#alias(event);
      case EVENT_ID.SEQUENCE:
        return this.#sequence(event);
      case EVENT_ID.MAPPING:
        return this.#mapping(event);
      default:
        throw new YamlFault("yaml: did not find expected node content");
    }
  }

  #sequence(event: SequenceEvent): unknown[] {
    const items: unknown[] = [];
    const finish = this.#open(event, items);
    while (this.#peek()!.type !== EVENT_ID.POP) items.push(this.#node());
    this.#next++;
    finish();
    return items;
  }

  #mapping(event: MappingEvent): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    const seen = new Set<string>();
    const finish = this.#open(event, members);
    while (this.#peek()!.type !== EVENT_ID.POP) {
      const keyEvent = this.#peek()!;
      const key = this.#node();
      if (isMergeKey(keyEvent, key)) {
        this.#merge(members, seen, this.#node(), keyEvent);
        continue;
      }
      const name = keyText(key);
      this.#set(members, seen, name, key as YamlScalar, this.#node(), keyEvent);
    }
    this.#next++;
    finish();
    return members;
  }

  #set(
    members: Record<string, unknown>,
    seen: Set<string>,
    name: string,
    key: YamlScalar,
    value: unknown,
    at: Event,
  ): void {
    if (seen.has(name) && this.duplicates.length < DUPLICATES_MAX) {
      const shown = typeof key === "string" ? goQuote(key) : String(key);
      this.duplicates.push(`line ${this.#lineOf(at)}: key ${shown} already set in map`);
    }
    seen.add(name);
    define(members, name, value);
  }

  /** Earlier maps of a list win over later ones, but all win over keys that stand before them. */
  #merge(members: Record<string, unknown>, seen: Set<string>, source: unknown, at: Event): void {
    const sources = Array.isArray(source) ? source.toReversed() : [source];
    for (const map of sources) {
      if (typeof map !== "object" || map === null || Array.isArray(map)) {
        throw new YamlFault("yaml: map merge requires map or sequence of maps as the value");
      }
      for (const [name, value] of Object.entries(map)) {
        this.#count(1, name.length);
        this.#set(members, seen, name, name, value, at);
      }
    }
  }

  /** Registers an anchor before its content is read, so that it cannot contain itself. */
  #open(event: SequenceEvent | MappingEvent, value: unknown): () => void {
    const anchor: Anchor = { value, extent: undefined };
    const name = this.#anchorName(event);
    if (name !== undefined) this.#anchors.set(name, anchor);
    const [nodes, characters, deepest] = [this.#nodes, this.#characters, this.#deepest];
    this.#depth++;
    this.#deepest = this.#depth;
    return () => {
      this.#depth--;
      anchor.extent = {
        nodes: this.#nodes - nodes + 1,
        characters: this.#characters - characters,
        height: this.#deepest - this.#depth,
      };
      this.#deepest = Math.max(deepest, this.#deepest);
    };
  }

  #alias(event: AliasEvent): unknown {
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) throw new YamlFault(`yaml: unknown anchor '${name}' referenced`);
    if (anchor.extent === undefined) {
      throw new YamlFault(`yaml: anchor '${name}' value contains itself`);
    }
    const { nodes, characters, height } = anchor.extent;
    this.#deepest = Math.max(this.#deepest, this.#depth + height);
    if (this.#deepest > DEPTH_MAX) throw new YamlFault(`yaml: ${TOO_DEEP_YAML}`);
    this.#aliasedNodes += nodes;
    this.#count(nodes, characters);
    return anchor.value;
  }

  #count(nodes: number, characters: number): void {
    this.#nodes += nodes;
    this.#characters += characters;
    const charactersMax = EXPANSION_MAX * this.#text.length + EXPANSION_FREE;
    const isTooLong = this.#characters > charactersMax;
    if (isTooLong || isExcessive(this.#aliasedNodes, this.#nodes)) {
      throw new YamlFault("yaml: document contains excessive aliasing");
    }
  }

  #anchorName({ anchorStart, anchorEnd }: { anchorStart: number; anchorEnd: number }) {
    return anchorStart < 0 ? undefined : this.#text.slice(anchorStart, anchorEnd);
  }

  #scalar(event: ScalarEvent): YamlScalar {
    const text = getScalarValue(this.#text, event);
    this.#count(0, text.length);
    const value = this.#resolved(event, text);
    const name = this.#anchorName(event);
    const extent = { nodes: 1, characters: text.length, height: 0 };
    if (name !== undefined) this.#anchors.set(name, { value, extent });
    return value;
  }

  #resolved(event: ScalarEvent, text: string): YamlScalar {
    const tag = event.tagStart < 0 ? "" : this.#text.slice(event.tagStart, event.tagEnd);
    if (tag !== "" && tag !== "!") return tagged(tag, text);
    const isPlain = event.style === SCALAR_STYLE.PLAIN && tag === "";
    return isPlain ? resolveYamlScalar(text) : text;
  }

  #lineOf(event: Event): number {
    const at = startOf(event);
    let line = 1;
    for (let i = this.#text.indexOf("\n"); i >= 0 && i < at; i = this.#text.indexOf("\n", i + 1)) {
      line++;
    }
    return line;
  }
}

/** Characters of the result: so many for each of the text, and some for free. */
const EXPANSION_MAX = 10;
const EXPANSION_FREE = 1_000_000;

const RATIO_LOW_NODES = 400_000;
const RATIO_HIGH_NODES = 4_000_000;

/** Small documents may consist of aliases almost entirely, large ones only to a tenth. */
function isExcessive(aliased: number, nodes: number): boolean {
  if (aliased <= 100 || nodes <= 1000) return false;
  const share = (nodes - RATIO_LOW_NODES) / (RATIO_HIGH_NODES - RATIO_LOW_NODES);
  const allowed = 0.99 - 0.89 * Math.min(Math.max(share, 0), 1);
  return aliased / nodes > allowed;
}

function isMergeKey(event: Event, key: unknown): boolean {
  return key === "<<" && event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN;
}

function keyText(key: unknown): string {
  switch (typeof key) {
    case "string":
      return key;
    case "number":
    case "bigint":
    case "boolean":
      return String(key);
    default:
      throw new YamlFault("yaml: invalid map key");
  }
}

/** A tag says what a scalar is to be; it must also be that. */
function tagged(tag: string, text: string): YamlScalar {
  const wanted = tag.replace(/^(!!|!?<?tag:yaml\.org,2002:)/, "").replace(/>$/, "");
  if (wanted === "str" || wanted === "binary" || wanted === "timestamp") return text;
  const value = resolveYamlScalar(text);
  const found = tagOf(value);
  if (wanted === "float" && typeof value === "number") return value;
  if (["int", "bool", "null", "float"].includes(wanted) && wanted !== found) {
    throw new YamlFault(`yaml: cannot decode !!${found} \`${text}\` as a !!${wanted}`);
  }
  return wanted === found ? value : text;
}

function tagOf(value: YamlScalar): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "str";
  return typeof value === "bigint" || Number.isInteger(value) ? "int" : "float";
}

function startOf(event: Event): number {
  switch (event.type) {
    case EVENT_ID.SCALAR:
      return event.valueStart;
    case EVENT_ID.ALIAS:
      return event.anchorStart;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    default:
      return 0;
  }
}
