/** Names and addresses in the form of /etc/hosts, as the plugin hosts has them. */
import { isIP } from "node:net";
import { parseIp } from "#api/validation/ip.ts";
import { type Lookup, NO_DATA, OUTSIDE, recordsOf } from "../zone/lookup.ts";
import { addressRecord } from "../zone/records.ts";
import { addressOfReverseName, isReverseName } from "../zone/reverse-name.ts";

export class HostsTable {
  readonly #addresses = new Map<string, (readonly number[])[]>();
  readonly #names = new Map<string, string[]>();
  readonly #hasReverse: boolean;

  constructor(lines: readonly (readonly string[])[], { hasReverse = true } = {}) {
    this.#hasReverse = hasReverse;
    for (const [address = "", ...names] of lines) {
      const ip = isIP(address) === 0 ? undefined : parseIp(address);
      if (ip === undefined) continue;
      for (const name of names.map((word) => word.toLowerCase().replace(/\.$/, ""))) {
        append(this.#addresses, name, ip.bytes);
        append(this.#names, String(ip.bytes), name);
      }
    }
  }

  /** `outside` if the table does not have the name. */
  lookup(name: string, type: string): Lookup {
    if (this.#hasReverse && isReverseName(name)) {
      const targets = this.#names.get(String(addressOfReverseName(name) ?? ""));
      if (targets === undefined) return OUTSIDE;
      return type === "PTR"
        ? recordsOf(targets.map((target) => ({ type, name, target })))
        : NO_DATA;
    }
    const addresses = this.#addresses.get(name);
    if (addresses === undefined) return OUTSIDE;
    const records = addresses.map((address) => addressRecord(name, address));
    return recordsOf(records.filter((record) => record.type === type));
  }
}

/** Lines of words, without comments. */
export function hostsLines(text: string): string[][] {
  return text.split("\n").map((line) => line.replace(/#.*/, "").trim().split(/\s+/));
}

function append<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
