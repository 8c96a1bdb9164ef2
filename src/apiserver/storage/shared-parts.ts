/**
 * Keeps equal parts of many objects once. The pods of a ReplicaSet have the same labels, owner, managed
 * fields, resources and tolerations: as values these take several times the memory of their JSON.
 *
 * Promises:
 * 1. The object that comes out is deeply equal to the one that went in, and deeply frozen.
 * 2. Only parts are shared that are frozen, so no object can be changed through another.
 * 3. Limits: a part has at most PART_LENGTH_MAX characters of JSON. At most 2 × PARTS_MAX parts of
 *    2 × LENGTH_MAX characters are known; those that were not asked for longest are forgotten first.
 */
import type { KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";

const PART_LENGTH_MAX = 4_096;
const PARTS_MAX = 4_096;
const LENGTH_MAX = 1 << 20;
/**
 * Lists whose items have something of their own, such as the name of a volume: of these the parts of each
 * item are shared, of everything else (`metadata.labels`, `spec.tolerations`) the whole.
 */
const OWN_ITEMS: ReadonlySet<string> = new Set([
  ...["managedFields", "volumes", "containers", "initContainers", "ephemeralContainers"],
  ...["containerStatuses", "initContainerStatuses"],
]);

type Holder = Record<string, unknown>;

export class SharedParts {
  #recent = new Map<string, object>();
  #older = new Map<string, object>();
  #length = 0;

  freeze(object: KubeObject): KubeObject {
    const { metadata, spec, status } = object as { metadata: Holder } & Record<string, unknown>;
    for (const holder of [metadata, spec, status]) {
      if (isOpen(holder)) this.#shareMembers(holder);
    }
    return deepFreeze(object);
  }

  #shareMembers(holder: Holder): void {
    for (const name of Object.keys(holder)) {
      const part = holder[name];
      if (!isOpen(part)) continue;
      if (Array.isArray(part) && OWN_ITEMS.has(name)) this.#shareItems(part);
      else holder[name] = this.#shared(part);
    }
  }

  #shareItems(items: readonly unknown[]): void {
    for (const item of items) {
      if (!isOpen(item)) continue;
      for (const name of Object.keys(item)) {
        const part = item[name];
        if (isOpen(part)) item[name] = this.#shared(part);
      }
    }
  }

  #shared(part: object): object {
    const text = textOf(part);
    if (text === undefined || text.length > PART_LENGTH_MAX) return part;
    const recent = this.#recent.get(text);
    if (recent !== undefined) return recent;
    const known = this.#older.get(text) ?? deepFreeze(part);
    this.#recent.set(text, known);
    this.#length += text.length;
    if (this.#recent.size > PARTS_MAX || this.#length > LENGTH_MAX) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#length = 0;
    }
    return known;
  }
}

/** Undefined for a part with a number beyond 2^53, which is a bigint. */
function textOf(part: object): string | undefined {
  try {
    return JSON.stringify(part);
  } catch {
    return undefined;
  }
}

/** An object or a list that is not frozen yet: what is frozen may be shared already. */
function isOpen(part: unknown): part is Holder {
  return typeof part === "object" && part !== null && !Object.isFrozen(part);
}
