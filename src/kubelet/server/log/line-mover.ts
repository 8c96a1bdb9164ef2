/**
 * Takes the prefixes (`2016-10-06T00:17:09.669794202Z stdout F `) out of many lines of a log in one call.
 * A call of a method of a typed array costs more than the search and the move of a usual line; a loop of
 * WebAssembly over 16 bytes at a time has no such calls: a line of 120 bytes takes a quarter of the time,
 * also when it is compiled without optimization.
 *
 * Promises:
 * 1. `load` copies a block into the memory that `move` works in, and answers that memory. One block is
 *    worked on at a time, without waiting for anything in between, so that all logs share one LineMover.
 * 2. `move` handles full lines whose time has 20 to 31 bytes, and stops before the first other line. Runtimes
 *    leave out zeros at the end of a time: every tenth one is shorter than 30 bytes.
 * 3. The program is made when it is first used: a kubelet whose logs are short never has it.
 */

/** 64 KiB each: a block, the begin of a line before it, and room to read beyond its end. */
const PAGES = 8;
const PAGE_BYTES = 64 * 1024;
const VECTOR_BYTES = 16;
/** Smaller blocks are not worth the program. */
const BLOCK_BYTES_MIN = 16 * 1024;
const BLOCK_BYTES_MAX = PAGES * PAGE_BYTES - VECTOR_BYTES;
const TIME_BYTES_MIN = 20;
/** ` stdout F ` */
const TAGS_BYTES = 10;
/** A line that ends earlier is left to the caller. */
const LINE_BYTES_MIN = 2 * VECTOR_BYTES + TAGS_BYTES;
const SPACE = 0x20;
const NEWLINE = 0x0a;

export interface Moved {
  /** Behind the last line that was moved. */
  readonly start: number;
  /** Behind its text. */
  readonly at: number;
}

interface Program {
  readonly bytes: Uint8Array;
  move(start: number, end: number, at: number): number;
  readonly start: { readonly value: number };
}

export class LineMover {
  #program: Program | undefined;

  /** The block in memory of the mover; undefined if it is not for the mover. */
  load(block: Uint8Array): Uint8Array | undefined {
    if (block.length < BLOCK_BYTES_MIN || block.length > BLOCK_BYTES_MAX) return undefined;
    this.#program ??= createProgram();
    const { bytes } = this.#program;
    bytes.set(block);
    return bytes.subarray(0, block.length);
  }

  /** Moves the texts of the lines from `start` on to `at`, which is not behind `start`. */
  move(start: number, end: number, at: number): Moved {
    const program = this.#program;
    if (program === undefined) return { start, at };
    const moved = program.move(start, end, at);
    return { start: program.start.value, at: moved };
  }
}

/** The part that is used here: the libraries of TypeScript for browsers have the rest. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: Omit<Program, "bytes"> & {
      readonly memory: { readonly buffer: ArrayBuffer };
    };
  };
};

function createProgram(): Program {
  const module = new WebAssembly.Module(moduleBytes());
  const { memory, move, start } = new WebAssembly.Instance(module).exports;
  return { bytes: new Uint8Array(memory.buffer), move, start };
}

const I32 = 0x7f;
const NOTHING = 0x40;
const OP = {
  ...{ block: 0x02, loop: 0x03, end: 0x0b, branch: 0x0c, branchIf: 0x0d },
  ...{ get: 0x20, set: 0x21, tee: 0x22, setGlobal: 0x24 },
  ...{ load32: 0x28, const32: 0x41 },
  ...{ add: 0x6a, subtract: 0x6b, and: 0x71, or: 0x72, shiftLeft: 0x74, trailingZeros: 0x68 },
  ...{ differs: 0x47, isLess: 0x49, isGreater: 0x4b, isNotLess: 0x4f, vector: 0xfd },
} as const;
const VECTOR = {
  ...{ load: 0x00, store: 0x0b, const: 0x0c },
  ...{ equal: 0x23, atMost: 0x2a, bitmask: 0x64 },
} as const;

/** Parameters and variables of the function. */
const [START, END, AT, NEXT, FROM, MASK] = [0, 1, 2, 3, 4, 5] as const;

/** `move(start, end, at)`: returns the new `at` and leaves the new `start` in a global variable. */
function moveLines(): number[] {
  const get = (variable: number): number[] => [OP.get, variable];
  const set = (variable: number): number[] => [OP.set, variable];
  const tee = (variable: number): number[] => [OP.tee, variable];
  const number = (value: number): number[] => [OP.const32, ...signed(BigInt(value))];
  const plus = (variable: number, value: number): number[] => [
    ...[...get(variable), ...number(value), OP.add],
  ];
  const vector = (op: number, ...more: number[]): number[] => [OP.vector, ...unsigned(op), ...more];
  /** A bit for each of the 16 bytes from the address on the stack on: whether the comparison is true. */
  const compare = (comparison: number, byte: number, offset = 0): number[] => [
    ...[...vector(VECTOR.load, 0, offset), ...vector(VECTOR.const, ...repeated(byte))],
    ...[...vector(comparison), ...vector(VECTOR.bitmask)],
  ];
  const { atMost, equal } = VECTOR;
  return [
    ...list([[3, I32]]),
    ...[OP.block, NOTHING, OP.loop, NOTHING],
    ...[...plus(START, LINE_BYTES_MIN), ...get(END), OP.isNotLess, OP.branchIf, 1],
    // The time ends at the first space; a newline before it ends another line.
    ...[...get(START), ...compare(atMost, SPACE)],
    ...[...get(START), ...compare(atMost, SPACE, VECTOR_BYTES)],
    ...[...number(VECTOR_BYTES), OP.shiftLeft, OP.or, OP.trailingZeros, ...tee(FROM)],
    ...[...number(TIME_BYTES_MIN), OP.isLess, OP.branchIf, 1],
    ...[...get(START), ...get(FROM), OP.add, ...tee(FROM)],
    // ` std` there, ` F ` from the eighth byte on.
    ...[OP.load32, 0, 0, ...number(0x64747320), OP.differs, OP.branchIf, 1],
    ...[...get(FROM), OP.load32, 0, 6, ...number(-0x100), OP.and],
    ...[...number(0x20462000), OP.differs, OP.branchIf, 1],
    // The end of the line: it may stand where `out` or `err` should.
    ...[...plus(FROM, 4), ...set(NEXT), ...plus(FROM, TAGS_BYTES), ...set(FROM)],
    ...[OP.block, NOTHING, OP.loop, NOTHING],
    ...[...get(NEXT), ...compare(equal, NEWLINE), ...tee(MASK), OP.branchIf, 1],
    ...[...plus(NEXT, VECTOR_BYTES), ...tee(NEXT), ...get(END), OP.isLess, OP.branchIf, 0],
    ...[OP.end, OP.branch, 2, OP.end],
    ...[...get(NEXT), ...get(MASK), OP.trailingZeros, OP.add, ...number(1), OP.add, ...tee(NEXT)],
    ...[...get(END), OP.isGreater, OP.branchIf, 1],
    ...[...get(NEXT), ...plus(FROM, 1), OP.isLess, OP.branchIf, 1],
    // The text. Up to 15 bytes too many are written: `at` is so far behind that they belong to this line.
    ...[OP.loop, NOTHING],
    ...[...get(AT), ...get(FROM), ...vector(VECTOR.load, 0, 0)],
    ...vector(VECTOR.store, 0, 0),
    ...[...plus(AT, VECTOR_BYTES), ...set(AT)],
    ...[...plus(FROM, VECTOR_BYTES), ...tee(FROM), ...get(NEXT), OP.isLess, OP.branchIf, 0, OP.end],
    ...[...get(AT), ...get(FROM), ...get(NEXT), OP.subtract, OP.subtract, ...set(AT)],
    ...[...get(NEXT), ...set(START), OP.branch, 0, OP.end, OP.end],
    ...[...get(START), OP.setGlobal, 0, ...get(AT), OP.end],
  ];
}

/** A module with one memory, one function and one global variable, exported by their names. */
function moduleBytes(): Uint8Array {
  const code = moveLines();
  const isVariable = 1;
  return new Uint8Array([
    ...[...text("\0asm"), 1, 0, 0, 0],
    ...section(1, list([[0x60, ...list([[I32], [I32], [I32]]), ...list([[I32]])]])),
    ...section(3, list([[0]])),
    ...section(5, list([[1, PAGES, PAGES]])),
    ...section(6, list([[I32, isVariable, OP.const32, 0, OP.end]])),
    ...section(7, list([exported("memory", 2), exported("move", 0), exported("start", 3)])),
    ...section(10, list([[...unsigned(code.length), ...code]])),
  ]);
}

function exported(name: string, sort: number): number[] {
  return [...unsigned(name.length), ...text(name), sort, 0];
}

function section(id: number, body: readonly number[]): number[] {
  return [id, ...unsigned(body.length), ...body];
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function repeated(byte: number): number[] {
  return Array.from({ length: VECTOR_BYTES }, () => byte);
}

function text(ascii: string): number[] {
  return [...Buffer.from(ascii, "latin1")];
}

/** LEB128 */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: bigint): number[] {
  const byte = Number(value & 0x7fn);
  const rest = value >> 7n;
  const isLast = rest === (byte & 0x40 ? -1n : 0n);
  return isLast ? [byte] : [byte | 0x80, ...signed(rest)];
}
