/**
 * What the kernel's table holds, and the commands that lead from there to other Services. Commands
 * only name what differs, so the change of one endpoint is a transaction of a few lines.
 */
import type { ServicePortRules } from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";
import { type NftObjects, renderService } from "./render-service.ts";
import { SharedElements } from "./shared-elements.ts";

const NOTHING: NftObjects = { elements: new Map(), chains: new Map(), sets: new Map() };

export class NftState {
  readonly #base: BaseRules;
  readonly #table: string;
  readonly #services = new Map<string, NftObjects>();
  readonly #elements = new SharedElements();
  /** Chains that no rule leads to any more. Older kernels refuse to delete them at once. */
  readonly #stale = new Set<string>();

  constructor(base: BaseRules, table: string) {
    this.#base = base;
    this.#table = table;
  }

  get base(): BaseRules {
    return this.#base;
  }

  /** Takes the new rules of some Services in. Answers the commands that bring the kernel there. */
  replace(changes: ReadonlyMap<string, readonly ServicePortRules[]>): string[] {
    const made: string[] = [];
    const filled: string[] = [];
    const removedSets: string[] = [];
    const before = new Map<string, string | undefined>();
    for (const [key, ports] of changes) {
      const old = this.#services.get(key) ?? NOTHING;
      const next = renderService(this.#base, ports);
      if (ports.length === 0) this.#services.delete(key);
      else this.#services.set(key, next);
      this.#replaceSets(old, next, made, removedSets);
      this.#replaceChains(old, next, made, filled);
      this.#replaceElements(key, old, next, before);
    }
    const { removed, added } = this.#elementCommands(before);
    return [...made, ...filled, ...removed, ...added, ...removedSets];
  }

  /** Commands that delete chains which an earlier transaction left without users. */
  takeStaleChains(): string[] {
    const commands = [...this.#stale].map((chain) => `delete chain ${this.#table} ${chain}`);
    this.#stale.clear();
    return commands;
  }

  #replaceSets(old: NftObjects, next: NftObjects, made: string[], removed: string[]): void {
    for (const [name, definition] of next.sets) {
      const known = old.sets.get(name);
      if (known === definition) continue;
      // The timeout of a set cannot be changed while it exists; its rules are written again below.
      if (known !== undefined) made.push(`delete set ${this.#table} ${name}`);
      made.push(`add set ${this.#table} ${name} ${definition}`);
    }
    for (const name of old.sets.keys()) {
      if (!next.sets.has(name)) removed.push(`delete set ${this.#table} ${name}`);
    }
  }

  #replaceChains(old: NftObjects, next: NftObjects, made: string[], filled: string[]): void {
    const setsChanged = [...next.sets].some(
      ([name, definition]) => old.sets.get(name) !== definition,
    );
    const flushed: string[] = [];
    for (const [name, rules] of next.chains) {
      const known = old.chains.get(name);
      if (known !== undefined && !setsChanged && isSame(known, rules)) continue;
      if (known === undefined && !this.#stale.delete(name)) {
        made.push(`add chain ${this.#table} ${name}`);
      } else flushed.push(`flush chain ${this.#table} ${name}`);
      filled.push(...rules.map((rule) => `add rule ${this.#table} ${name} ${rule}`));
    }
    for (const name of old.chains.keys()) {
      if (next.chains.has(name)) continue;
      flushed.push(`flush chain ${this.#table} ${name}`);
      this.#stale.add(name);
    }
    // Before anything is deleted or filled.
    made.unshift(...flushed);
  }

  #replaceElements(
    key: string,
    old: NftObjects,
    next: NftObjects,
    before: Map<string, string | undefined>,
  ): void {
    const note = (element: string): void => {
      if (!before.has(element)) before.set(element, this.#elements.value(element));
    };
    for (const element of old.elements.keys()) {
      if (next.elements.has(element)) continue;
      note(element);
      this.#elements.remove(element, key);
    }
    for (const [element, value] of next.elements) {
      if (old.elements.get(element) === value) continue;
      note(element);
      this.#elements.add(element, key, value);
    }
  }

  #elementCommands(before: ReadonlyMap<string, string | undefined>): {
    removed: string[];
    added: string[];
  } {
    const removed = new Map<string, string[]>();
    const added = new Map<string, string[]>();
    for (const [element, old] of before) {
      const now = this.#elements.value(element);
      if (now === old) continue;
      const [container = "", ...rest] = element.split(" ");
      const key = rest.join(" ");
      if (old !== undefined) append(removed, container, key);
      if (now !== undefined) append(added, container, now === "" ? key : `${key} : ${now}`);
    }
    const commands = (verb: string, from: ReadonlyMap<string, readonly string[]>): string[] =>
      [...from].map(
        ([container, items]) =>
          `${verb} element ${this.#table} ${container} { ${items.join(", ")} }`,
      );
    return { removed: commands("delete", removed), added: commands("add", added) };
  }
}

function append(lists: Map<string, string[]>, name: string, item: string): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((rule, i) => rule === right[i]);
}
