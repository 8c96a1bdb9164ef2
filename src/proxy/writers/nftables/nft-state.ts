/**
 * What the kernel's table holds, and the commands that lead from there to other Services. Commands
 * only name what differs, so the change of one endpoint is a transaction of a few lines.
 */
import type { ServicePortRules } from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";
import { ElementOwners } from "./element-owners.ts";
import { packObjects, unpackObjects } from "./packed-nft-objects.ts";
import {
  type ElementValue,
  type NftObjects,
  renderService,
  sharedEndpoints,
} from "./render-service.ts";
import { endpointMap, SharedChains } from "./shared-chains.ts";

interface Difference {
  readonly old: NftObjects;
  readonly next: NftObjects;
}

export class NftState {
  readonly #base: BaseRules;
  readonly #table: string;
  /** What each Service was rendered to, as text: it takes a fifth of the memory. */
  readonly #services = new Map<string, string>();
  readonly #owners = new ElementOwners();
  readonly #shared: SharedChains;
  /** Chains that no rule leads to any more. Older kernels refuse to delete them at once. */
  readonly #stale = new Set<string>();

  constructor(base: BaseRules, table: string) {
    this.#base = base;
    this.#table = table;
    this.#shared = new SharedChains(base);
  }

  get base(): BaseRules {
    return this.#base;
  }

  /** Takes the new rules of some Services in. Answers the commands that bring the kernel there. */
  replace(changes: ReadonlyMap<string, readonly ServicePortRules[]>): string[] {
    const shared: string[] = [];
    const made: string[] = [];
    const filled: string[] = [];
    const removedSets: string[] = [];
    const differences = this.#differences(changes);
    const before = this.#elementValues(differences, "old");
    for (const [key, { old, next }] of differences) {
      this.#replaceSets(old, next, made, removedSets);
      this.#replaceChains(old, next, made, filled);
      for (const element of old.elements.keys()) this.#owners.remove(element, key);
      for (const element of next.elements.keys()) this.#owners.add(element, key);
    }
    for (const [key, ports] of changes) {
      if (ports.length === 0) this.#services.delete(key);
      else this.#services.set(key, packObjects(differences.get(key)!.next));
      for (const port of ports) {
        const endpoints = sharedEndpoints(port)?.length ?? 0;
        if (endpoints > 0) shared.push(...this.#shared.add(port.protocol, endpoints));
      }
    }
    const after = this.#elementValues(differences, "next");
    const { removed, added } = this.#elementCommands(before, after);
    return [...shared, ...made, ...filled, ...removed, ...added, ...removedSets];
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

  #differences(
    changes: ReadonlyMap<string, readonly ServicePortRules[]>,
  ): ReadonlyMap<string, Difference> {
    return new Map(
      [...changes].map(([key, ports]) => {
        return [key, { old: this.#written(key), next: renderService(this.#base, ports) }];
      }),
    );
  }

  /** What the elements of Services that change lead to, before or after the change. */
  #elementValues(
    differences: ReadonlyMap<string, Difference>,
    side: keyof Difference,
  ): ReadonlyMap<string, ElementValue | undefined> {
    const values = new Map<string, ElementValue | undefined>();
    for (const { old, next } of differences.values()) {
      for (const element of [...old.elements.keys(), ...next.elements.keys()]) {
        if (values.has(element)) continue;
        const [owner] = this.#owners.of(element);
        const value =
          owner === undefined ? undefined : this.#valueOf(element, owner, differences, side);
        values.set(element, value);
      }
    }
    return values;
  }

  #valueOf(
    element: string,
    owner: string,
    differences: ReadonlyMap<string, Difference>,
    side: keyof Difference,
  ): ElementValue | undefined {
    const objects = differences.get(owner)?.[side] ?? this.#written(owner);
    return objects.elements.get(element);
  }

  #written(key: string): NftObjects {
    const text = this.#services.get(key);
    return text === undefined ? renderService(this.#base, []) : unpackObjects(text);
  }

  #elementCommands(
    before: ReadonlyMap<string, ElementValue | undefined>,
    after: ReadonlyMap<string, ElementValue | undefined>,
  ): { removed: string[]; added: string[] } {
    const removed = new Map<string, string[]>();
    const added = new Map<string, string[]>();
    const compare = (container: string, key: string, old?: string, next?: string): void => {
      if (old === next) return;
      if (old !== undefined) append(removed, container, key);
      if (next !== undefined) append(added, container, next === "" ? key : `${key} : ${next}`);
    };
    for (const [element, old] of before) {
      const next = after.get(element);
      const [container, key] = split(element);
      compare(container, key, old?.verdict, next?.verdict);
      const positions = Math.max(old?.sockets.length ?? 0, next?.sockets.length ?? 0);
      if (positions === 0) continue;
      const [ip = "", protocol = "", port = ""] = key.split(" . ");
      for (let i = 0; i < positions; i++) {
        const map = endpointMap(protocol, i);
        compare(map, `${ip} . ${port}`, old?.sockets[i], next?.sockets[i]);
      }
    }
    const commands = (verb: string, from: ReadonlyMap<string, readonly string[]>): string[] =>
      [...from].map(
        ([container, items]) =>
          `${verb} element ${this.#table} ${container} { ${items.join(", ")} }`,
      );
    return { removed: commands("delete", removed), added: commands("add", added) };
  }
}

function split(element: string): readonly [container: string, key: string] {
  const end = element.indexOf(" ");
  return [element.slice(0, end), element.slice(end + 1)];
}

function append(lists: Map<string, string[]>, name: string, item: string): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((rule, i) => rule === right[i]);
}
