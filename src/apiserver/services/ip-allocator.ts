/**
 * Cluster addresses of Services. An address is taken by creating the IPAddress object of its name,
 * so that any number of API servers on one store never give it away twice.
 */

import type { Service } from "#api/generated/core.v1.ts";
import type { ServiceCIDR } from "#api/generated/networking.v1.ts";
import type { ClusterFamilies } from "#api/kinds/core/v1/service/ip-families.ts";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { type AddressRange, addressRange, candidates, contains } from "#api/meta/address-range.ts";
import { formatIp, parseCidr, parseIp } from "#api/validation/ip.ts";
import type { Random } from "#lib/random.ts";
import type { Objects } from "../storage/objects.ts";
import { addressObject } from "./address-object.ts";

export type Family = "IPv4" | "IPv6";

export type Allocation =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly error: string; readonly full: boolean };

export interface IpAllocatorOptions {
  readonly objects: Objects;
  readonly random: Random;
  /** The ranges of the server's own flag: one for each family. */
  readonly ranges: readonly string[];
}

export class IpAllocator {
  readonly #options: IpAllocatorOptions;
  readonly #own: readonly AddressRange[];

  constructor(options: IpAllocatorOptions) {
    this.#options = options;
    this.#own = options.ranges.flatMap(rangesOf);
  }

  /** The default first. */
  get families(): ClusterFamilies {
    const [first, second] = new Set(this.#own.map(({ family }) => family));
    if (first === undefined)
      throw new Error("a cluster has at least one range of service addresses");
    return second === undefined ? [first] : [first, second];
  }

  /** Any free address. A dry run takes none. */
  async allocateNext(family: Family, owner: Service, dryRun: boolean): Promise<Allocation> {
    const { objects, random } = this.#options;
    for (const range of this.#ranges(family)) {
      for (const address of candidates(range, random)) {
        if (objects.get(ipAddressKind, "", address) !== undefined) continue;
        if (dryRun) return { ok: true, address };
        const taken = await this.#take(address, owner);
        if (taken === undefined) return { ok: true, address };
        if (taken !== ALREADY_ALLOCATED) return { ok: false, error: taken, full: false };
      }
    }
    return { ok: false, error: "range is full", full: true };
  }

  async allocate(address: string, owner: Service, dryRun: boolean): Promise<Allocation> {
    const parsed = parseIp(address);
    const fail = (error: string): Allocation => ({ ok: false, error, full: false });
    if (parsed === undefined) return fail("invalid address");
    const family: Family = parsed.bytes.length === 4 ? "IPv4" : "IPv6";
    const ranges = this.#ranges(family);
    if (!ranges.some((range) => contains(range, address))) {
      return fail(
        dryRun
          ? `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${ranges[0]?.cidr ?? ""}`
          : "the provided network does not match the current range",
      );
    }
    if (dryRun) return { ok: true, address };
    const taken = await this.#take(formatIp(parsed), owner);
    return taken === undefined ? { ok: true, address } : fail(taken);
  }

  async release(address: string): Promise<void> {
    const parsed = parseIp(address);
    if (parsed !== undefined) {
      await this.#options.objects.delete(ipAddressKind, "", formatIp(parsed));
    }
  }

  /** Undefined when it was taken; else why not. */
  async #take(name: string, owner: Service): Promise<string | undefined> {
    const created = await this.#options.objects.create(ipAddressKind, addressObject(name, owner));
    if (created.ok) return undefined;
    return created.status.reason === "AlreadyExists"
      ? ALREADY_ALLOCATED
      : (created.status.message ?? "");
  }

  #ranges(family: Family): readonly AddressRange[] {
    return this.ranges().filter((range) => range.family === family);
  }

  /** The ranges that addresses may be taken from now: those of ServiceCIDRs once there are any. */
  ranges(): readonly AddressRange[] {
    const all = [...this.#options.objects.list(serviceCidrKind)];
    const stored = all.filter(isUsable).flatMap(({ spec }) => spec?.cidrs ?? []);
    const ranges = all.length === 0 ? this.#own : stored.flatMap(rangesOf);
    const distinct = new Map(ranges.map((range) => [range.cidr, range]));
    return [...distinct.values()];
  }
}

/** Not one that is going, or was found to be unusable. */
function isUsable({ metadata, status }: ServiceCIDR): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions?.find(({ type }) => type === "Ready")?.status !== "False";
}

const ALREADY_ALLOCATED = "provided IP is already allocated";

function rangesOf(text: string): AddressRange[] {
  const cidr = parseCidr(text);
  return cidr === undefined ? [] : [addressRange(cidr, text)];
}
