/**
 * What a process did to two files, from strace: to the data, bytes at offsets and flushes; to the
 * notes, lines. Each in the order of the system calls.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export type TraceEvent =
  /** `durable`: through a descriptor whose writes are flushed before they return. */
  | {
      readonly kind: "write";
      readonly offset: number;
      readonly bytes: Buffer;
      readonly durable: boolean;
      done: number;
    }
  | { readonly kind: "sync"; done: number }
  | { readonly kind: "note"; readonly line: string };

export interface TraceOptions {
  readonly command: readonly string[];
  readonly dataFile: string;
  readonly notesFile: string;
  readonly output: string;
}

/** `done` of an event is the index of the first event that came after its call returned. */
export function traceFiles({ command, dataFile, notesFile, output }: TraceOptions): TraceEvent[] {
  const calls = "openat,close,pwrite64,write,writev,lseek,ftruncate,fdatasync,fsync";
  const { status, stderr } = spawnSync(
    "strace",
    [
      ...["-f", "-qq", "-xx", "-s", "4000000", "-o", output, "-e", `trace=${calls}`],
      ...["-P", dataFile, "-P", notesFile, ...command],
    ],
    { stdio: ["ignore", "ignore", "pipe"], maxBuffer: 2 ** 26 },
  );
  if (status !== 0) throw new Error(`strace: ${stderr.toString().slice(-2_000)}`);
  return new Parser(dataFile, notesFile).parse(readFileSync(output, "latin1").split("\n"));
}

interface OpenFile {
  readonly data: boolean;
  readonly durable: boolean;
  offset: number;
}

class Parser {
  readonly #dataFile: string;
  readonly #notesFile: string;
  readonly #files = new Map<number, OpenFile>();
  readonly #unfinished = new Map<string, { text: string; event: TraceEvent | undefined }>();
  readonly #events: TraceEvent[] = [];

  constructor(dataFile: string, notesFile: string) {
    this.#dataFile = dataFile;
    this.#notesFile = notesFile;
  }

  parse(lines: readonly string[]): TraceEvent[] {
    for (const line of lines) {
      const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
      if (rest.endsWith("<unfinished ...>")) {
        const text = rest.slice(0, -"<unfinished ...>".length);
        this.#unfinished.set(thread, { text, event: this.#begin(text) });
      } else if (rest.startsWith("<... ")) {
        const begun = this.#unfinished.get(thread);
        const tail = rest.slice(rest.indexOf("resumed>") + "resumed>".length);
        if (begun !== undefined) this.#end(begun.text + tail, begun.event);
      } else if (rest !== "") this.#end(rest, this.#begin(rest));
    }
    return this.#events;
  }

  /** What happens to a file, as soon as the call is made. */
  #begin(text: string): TraceEvent | undefined {
    const [, call = "", descriptor = ""] = /^(\w+)\((\d+)/.exec(text) ?? [];
    const file = this.#files.get(Number(descriptor));
    if (file === undefined) return undefined;
    const event = this.#eventOf(call, file, text);
    if (event !== undefined) this.#events.push(event);
    return event;
  }

  #eventOf(call: string, file: OpenFile, text: string): TraceEvent | undefined {
    const done = Number.POSITIVE_INFINITY;
    if (call === "fdatasync" || call === "fsync")
      return file.data ? { kind: "sync", done } : undefined;
    if (!/^(write|writev|pwrite64)$/.test(call)) {
      if (call === "ftruncate" && file.data) throw new Error("the data file is truncated");
      return undefined;
    }
    const bytes = Buffer.concat(
      [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g)].map(fromHex),
    );
    if (!file.data) return { kind: "note", line: bytes.toString().trimEnd() };
    const explicit = call === "pwrite64" ? offsetOf(text) : undefined;
    const offset = explicit ?? file.offset;
    if (explicit === undefined) file.offset += bytes.length;
    if (Number.isNaN(offset)) throw new Error(`no offset in ${text.slice(-80)}`);
    return { kind: "write", offset, bytes, durable: file.durable, done };
  }

  #end(text: string, event: TraceEvent | undefined): void {
    if (event !== undefined && event.kind !== "note") event.done = this.#events.length;
    const opened = /^openat\(\w+, "((?:\\x[0-9a-f]{2})*)", ([^)]*)\)\s+= (\d+)$/.exec(text);
    if (opened !== null) {
      const path = fromHex(["", opened[1]!]).toString();
      const data = path === this.#dataFile;
      if (!data && path !== this.#notesFile) return;
      this.#files.set(Number(opened[3]), { data, durable: /O_D?SYNC/.test(opened[2]!), offset: 0 });
      return;
    }
    const sought = /^lseek\((\d+), (\d+), SEEK_SET\s*\)\s+= \d+$/.exec(text);
    const file = sought && this.#files.get(Number(sought[1]));
    if (file) file.offset = Number(sought[2]);
    const closed = /^close\((\d+)\)/.exec(text);
    if (closed !== null) this.#files.delete(Number(closed[1]));
  }
}

/** The last argument of pwrite64. */
function offsetOf(text: string): number {
  const rest = text.slice(text.lastIndexOf('"') + 1);
  return Number(/^(?:\.\.\.)?, \d+, (\d+)/.exec(rest)?.[1] ?? Number.NaN);
}

function fromHex(match: ArrayLike<string | undefined>): Buffer {
  if (match[2] === "...") throw new Error("strace cut a write short");
  return Buffer.from((match[1] ?? "").replaceAll("\\x", ""), "hex");
}
