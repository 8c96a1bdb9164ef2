/** Keeps a checkpoint file as its owner's state is: writes never overlap, the last state wins. */
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { messageOf } from "#lib/caught.ts";

export interface CheckpointWriterOptions {
  readonly path: string;
  text(): string;
  onFailed(why: string): void;
}

export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions;
  #last: Promise<void> = Promise.resolve();
  /** A write that has not begun: it will have whatever the state is then. */
  #next: Promise<void> | undefined;
  #written: string | undefined;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  async read(): Promise<string | undefined> {
    this.#written = await readTextIfPresent(this.#options.path);
    return this.#written;
  }

  /** Resolves when the state of now is in the file. */
  save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const saved = this.#last.then(async () => {
      this.#next = undefined;
      const text = this.#options.text();
      if (text === this.#written) return;
      await writeFileWhole(this.#options.path, text, { mode: 0o600 });
      this.#written = text;
    });
    this.#next = saved;
    this.#last = saved.catch(() => undefined);
    return saved;
  }

  saveLater(): void {
    this.save().catch((error: unknown) => this.#options.onFailed(messageOf(error)));
  }
}
