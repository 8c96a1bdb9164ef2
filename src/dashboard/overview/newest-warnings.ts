/** The newest warnings of a cluster: Events are kept up to a limit, and a few of them are shown. Pure. */
export interface Warning {
  readonly uid: string;
  readonly reason: string;
  readonly message: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** RFC 3339: when it was last seen. */
  readonly time: string;
}

const KEPT_MAX = 5_000;
const SHOWN = 50;
const MESSAGE_LENGTH_MAX = 500;

export class NewestWarnings {
  readonly #warnings = new Map<string, Warning>();
  #hasChanged = true;

  clear(): void {
    this.#warnings.clear();
    this.#hasChanged = true;
  }

  put(object: unknown): void {
    const warning = warningOf(object as EventObject);
    // The newest are last, so that the oldest go first.
    this.#warnings.delete(warning.uid);
    this.#warnings.set(warning.uid, warning);
    this.#hasChanged = true;
    if (this.#warnings.size <= KEPT_MAX) return;
    const [oldest] = this.#warnings.keys();
    if (oldest !== undefined) this.#warnings.delete(oldest);
  }

  remove(object: unknown): void {
    this.#hasChanged = this.#warnings.delete(uidOf(object as EventObject)) || this.#hasChanged;
  }

  /** The newest first; undefined if nothing has changed since the last call. */
  takeIfChanged(): readonly Warning[] | undefined {
    if (!this.#hasChanged) return undefined;
    this.#hasChanged = false;
    return [...this.#warnings.values()]
      .toSorted((a, b) => (a.time < b.time ? 1 : -1))
      .slice(0, SHOWN);
  }
}

/** What is read of an Event; all of it may be missing. */
interface EventObject {
  readonly metadata?: {
    readonly uid?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
  };
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly firstTimestamp?: string | null;
  readonly series?: { readonly lastObservedTime?: string } | null;
  readonly involvedObject?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
}

function uidOf({ metadata }: EventObject): string {
  return metadata?.uid ?? `${metadata?.namespace}/${metadata?.name}`;
}

function warningOf(event: EventObject): Warning {
  const { reason = "", message = "", involvedObject = {} } = event;
  const times = [event.series?.lastObservedTime, event.lastTimestamp, event.eventTime];
  const others = [event.firstTimestamp, event.metadata?.creationTimestamp];
  return {
    uid: uidOf(event),
    reason,
    message: message.slice(0, MESSAGE_LENGTH_MAX),
    apiVersion: involvedObject.apiVersion ?? "",
    kind: involvedObject.kind ?? "",
    namespace: involvedObject.namespace ?? "",
    name: involvedObject.name ?? "",
    time: [...times, ...others].find((time) => typeof time === "string") ?? "",
  };
}
