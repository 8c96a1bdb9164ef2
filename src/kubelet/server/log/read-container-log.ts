/**
 * Reads a container's log: from the beginning or the last lines, up to a number of bytes, and, if it
 * is followed, what is written later until the container has ended.
 *
 * Promises:
 * 1. A log of any size is read in blocks, one block ahead of the reader, into two buffers: a chunk is the
 *    reader's until it asks for the next one. The memory of the buffers is freed at the end.
 * 2. A followed log goes on in the new file after the runtime has rotated it.
 */
import { watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { freeBuffer } from "#lib/free-buffer.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { LineMover } from "./line-mover.ts";
import { LogLines } from "./log-lines.ts";
import type { LogOptions } from "./log-options.ts";

const BLOCK_BYTES = 256 * 1024;
/** Before each block, for the begin of a line. containerd and CRI-O cut lines after 16 KiB. */
const ROOM_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
/** A container that ended without writing anything is noticed after this time. */
const LOOK_AGAIN_MS = 1_000;

export interface ReadLogOptions {
  readonly path: string;
  readonly options: LogOptions;
  /** Whether more may be written. */
  isRunning(): Promise<boolean>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly mover?: LineMover | undefined;
}

export async function* readContainerLog(request: ReadLogOptions): AsyncGenerator<Uint8Array, void> {
  const { path, options, signal } = request;
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const lines = new LogLines(options, request.mover);
  const file = new LogFile(path);
  const changes = options.follow ? new FileChanges(path, request.clock, signal) : undefined;
  try {
    await file.open(options.tailLines);
    while (!signal.aborted) {
      // Asked before the last read: what was written until then is read.
      const mayGrow = changes !== undefined && (await request.isRunning());
      for await (const block of file.blocks(() => lines.rest)) {
        const text = lines.add(block);
        if (text.length === 0) continue;
        yield text.length > left ? text.subarray(0, left) : text;
        left -= text.length;
        if (left <= 0 || signal.aborted) return;
      }
      if (await file.wasRotated()) {
        await file.reopen();
        continue;
      }
      if (!mayGrow || changes === undefined) return;
      await changes.next();
    }
  } finally {
    changes?.close();
    await file.close();
    file.free();
  }
}

/** One log file and the place up to which it was read. */
class LogFile {
  readonly #path: string;
  readonly #buffers: readonly [Buffer, Buffer] = [newBuffer(), newBuffer()];
  #handle: FileHandle | undefined;
  #offset = 0;
  /** Which buffer the next block is read into. */
  #turn: 0 | 1 = 0;
  /** The next block is being read: how many bytes it has. */
  #ahead: Promise<number> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async open(tailLines: number | undefined): Promise<void> {
    this.#handle = await open(this.#path, "r");
    if (tailLines === undefined) return;
    const { size } = await this.#handle.stat();
    this.#offset = await tailOffset(this.#handle, size, tailLines);
  }

  async reopen(): Promise<void> {
    await this.close();
    this.#ahead = undefined;
    this.#offset = 0;
    await this.open(undefined);
  }

  /** Another file has the name now. */
  async wasRotated(): Promise<boolean> {
    const current = await open(this.#path, "r").catch(() => undefined);
    if (current === undefined) return false; // the runtime is about to make it
    try {
      const [now, before] = await Promise.all([current.stat(), this.#handle?.stat()]);
      return before !== undefined && (now.ino !== before.ino || now.size < this.#offset);
    } finally {
      await current.close();
    }
  }

  /** `rest`: what is left of the block before, which the next one begins with. */
  async *blocks(rest: () => Uint8Array): AsyncGenerator<Buffer, void> {
    for (;;) {
      this.#ahead ??= this.#read();
      const bytesRead = await this.#ahead;
      this.#ahead = undefined;
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      const block = withRest(rest(), this.#buffers[this.#turn], bytesRead);
      // The rest has left the other buffer, and so has the chunk that the reader had.
      this.#turn = this.#turn === 0 ? 1 : 0;
      this.#ahead = this.#read();
      yield block;
    }
  }

  async close(): Promise<void> {
    await this.#ahead?.catch(() => undefined);
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** After the reader has taken everything that it wants. */
  free(): void {
    for (const buffer of this.#buffers) freeBuffer(buffer);
  }

  async #read(): Promise<number> {
    const buffer = this.#buffers[this.#turn];
    const { bytesRead } = await this.#handle!.read(buffer, ROOM_BYTES, BLOCK_BYTES, this.#offset);
    return bytesRead;
  }
}

/** Pages that no block ever fills take no memory. */
function newBuffer(): Buffer {
  return Buffer.allocUnsafeSlow(ROOM_BYTES + BLOCK_BYTES);
}

/** The block that was read behind the room, with the rest of the last one before it. */
function withRest(rest: Uint8Array, buffer: Buffer, bytesRead: number): Buffer {
  const end = ROOM_BYTES + bytesRead;
  if (rest.length > ROOM_BYTES) return Buffer.concat([rest, buffer.subarray(ROOM_BYTES, end)]);
  buffer.set(rest, ROOM_BYTES - rest.length);
  return buffer.subarray(ROOM_BYTES - rest.length, end);
}

/** Where the last `lines` lines begin, found by reading backwards. */
async function tailOffset(file: FileHandle, size: number, lines: number): Promise<number> {
  if (lines === 0) return size;
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  let found = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const { bytesRead } = await file.read(buffer, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at--) {
      if (buffer[at] !== NEWLINE || start + at === size - 1) continue;
      found += 1;
      if (found === lines) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** Waits for changes of a file and of its name in the folder. */
class FileChanges {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #watcher: ReturnType<typeof watch>;
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(path: string, clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    const name = basename(path);
    this.#watcher = watch(dirname(path), (_event, file) => {
      if (file === null || file === name) this.#change();
    });
    this.#watcher.on("error", () => this.#change()); // the folder is gone: the reader finds out
  }

  async next(): Promise<void> {
    if (!this.#changed && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.schedule(LOOK_AGAIN_MS, resolve);
        this.#signal.addEventListener("abort", () => resolve(), { once: true });
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#changed = false;
  }

  close(): void {
    this.#watcher.close();
  }

  #change(): void {
    this.#changed = true;
    this.#wake?.();
  }
}
