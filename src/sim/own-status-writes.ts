/**
 * Tells the watch events of own status writes from those of changes by others. A write is shown by the
 * watch and answered by the server, in either order; only changes by others need another step.
 *
 * Promises:
 * 1. `isOwn` is false for every change by someone else, unless the pod is being written; then the
 *    outcome of the write says whether there was one.
 * 2. One entry a pod, from `begin` until both the answer and the event have come, or `drop`.
 */
interface StatusWrite {
  /** Revision of the answer; undefined while it has not come. */
  answered: string | undefined;
  /** The latest revision that the watch showed before the answer came. */
  seen: string | undefined;
}

export class OwnStatusWrites {
  readonly #writes = new Map<string, StatusWrite>();

  begin(uid: string): void {
    this.#writes.set(uid, { answered: undefined, seen: undefined });
  }

  /** The watch shows a revision of the pod. */
  isOwn(uid: string, revision: string | undefined): boolean {
    const write = this.#writes.get(uid);
    if (write === undefined) return false;
    if (write.answered === undefined) {
      write.seen = revision;
      return true;
    }
    if (write.answered !== revision) return false;
    this.#writes.delete(uid);
    return true;
  }

  /** The write was answered. Returns whether the watch has shown a change by someone else meanwhile. */
  end(uid: string, revision: string | undefined): boolean {
    const write = this.#writes.get(uid);
    if (write === undefined) return false;
    if (write.seen === undefined) {
      write.answered = revision;
      return false;
    }
    this.#writes.delete(uid);
    return write.seen !== revision;
  }

  /** The write failed, or the pod is gone. */
  drop(uid: string): void {
    this.#writes.delete(uid);
  }
}
