/**
 * A file of lines that is put aside when it has grown too large.
 *
 * Promises:
 * 1. Lines are written in order; `close` waits until all are.
 * 2. Memory is bounded: when the disk does not keep up with `PENDING_BYTES_MAX`, further lines are
 *    dropped and counted, and the log says so once it can.
 * 3. At most `backupsMax` old files are kept, none older than `ageDaysMax`.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface LogFileOptions {
  readonly path: string;
  /** 0: it may grow for ever. */
  readonly bytesMax: number;
  /** 0: all are kept. */
  readonly backupsMax: number;
  readonly ageDaysMax: number;
  /** Old files are compressed. */
  readonly compress?: boolean;
  readonly clock: Pick<Clock, "nowMs">;
  readonly logger: Logger;
}

const PENDING_BYTES_MAX = 32 * 1024 * 1024;
const DAY_MS = 86_400_000;

export class LogFile {
  readonly #options: LogFileOptions;
  #file: FileHandle | undefined;
  #size = 0;
  #pending: string[] = [];
  #pendingBytes = 0;
  #dropped = 0;
  #writing: Promise<boolean> | undefined;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  write(line: string): void {
    if (this.#pendingBytes + line.length > PENDING_BYTES_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
  }

  /** The same; resolves when it has been written, to whether it was. */
  async stored(line: string): Promise<boolean> {
    const dropped = this.#dropped;
    this.write(line);
    return this.#dropped === dropped && (await this.#writing) !== false;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Whether all could be written. */
  async #drain(): Promise<boolean> {
    const { logger, path } = this.#options;
    let good = true;
    while (this.#pending.length > 0) {
      const text = this.#pending.join("");
      this.#pending = [];
      this.#pendingBytes = 0;
      try {
        const file = await this.#ready(Buffer.byteLength(text));
        await file.appendFile(text);
      } catch (error) {
        good = false;
        logger.error("audit events could not be written", { path, error });
      }
      if (this.#dropped > 0) {
        logger.error("audit events were dropped: the disk does not keep up", {
          path,
          dropped: this.#dropped,
        });
        this.#dropped = 0;
      }
    }
    return good;
  }

  /** The open file, a new one if this much more would be too much. */
  async #ready(bytes: number): Promise<FileHandle> {
    const { path, bytesMax } = this.#options;
    if (this.#file === undefined) {
      await mkdir(dirname(path), { recursive: true });
      this.#file = await open(path, "a", 0o600);
      this.#size = (await this.#file.stat()).size;
    }
    if (bytesMax > 0 && this.#size > 0 && this.#size + bytes > bytesMax) {
      await this.#file.close();
      await this.#putAside();
      await this.#removeOld();
      this.#file = await open(path, "a", 0o600);
      this.#size = 0;
    }
    this.#size += bytes;
    return this.#file;
  }

  async #putAside(): Promise<void> {
    const { path, compress, logger } = this.#options;
    const backup = await this.#backupName();
    await rename(path, backup);
    if (!compress) return;
    try {
      const target = createWriteStream(`${backup}.gz`, { mode: 0o600 });
      await pipeline(createReadStream(backup), createGzip(), target);
      await unlink(backup);
    } catch (error) {
      logger.error("an old audit log could not be compressed", { path: backup, error });
    }
  }

  /** `audit-2030-01-01T00-00-00.000.log`, as other log rotators name them. */
  async #backupName(): Promise<string> {
    const { path, clock } = this.#options;
    const time = new Date(clock.nowMs()).toISOString().replaceAll(":", "-").replace("Z", "");
    const extension = extname(path);
    const stem = `${basename(path, extension)}-${time}`;
    for (let count = 0; ; count++) {
      const name = join(dirname(path), `${stem}${count === 0 ? "" : `.${count}`}${extension}`);
      const taken = await Promise.all(
        [name, `${name}.gz`].map((one) => stat(one).catch(() => undefined)),
      );
      if (taken.every((one) => one === undefined)) return name;
    }
  }

  async #removeOld(): Promise<void> {
    const { path, backupsMax, ageDaysMax, clock } = this.#options;
    const extension = extname(path);
    const prefix = `${basename(path, extension)}-`;
    const names = (await readdir(dirname(path)))
      .filter((name) => name.startsWith(prefix) && name.replace(/\.gz$/, "").endsWith(extension))
      .sort()
      .reverse();
    for (const [index, name] of names.entries()) {
      const file = join(dirname(path), name);
      const surplus = backupsMax > 0 && index >= backupsMax;
      const ageMs = clock.nowMs() - (await stat(file)).mtimeMs;
      if (surplus || (ageDaysMax > 0 && ageMs > ageDaysMax * DAY_MS)) await unlink(file);
    }
  }
}
