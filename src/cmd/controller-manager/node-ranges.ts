/** The flags that say which addresses nodes give to their pods. */
import { isIpv6Cidr } from "#api/validation/ip.ts";
import type { NodeIpamOptions } from "#controllers/node-ipam/node-ipam.ts";
import { poolOf } from "#controllers/node-ipam/pool.ts";
import { FlagError } from "../flags/parse-flags.ts";

const SIZES = { IPv4: 24, IPv6: 64 };

interface RangeFlags {
  readonly clusterCidr: string | undefined;
  readonly serviceRange: string | undefined;
  readonly size?: number | undefined;
  readonly sizeIpv4?: number | undefined;
  readonly sizeIpv6?: number | undefined;
}

export function nodeRangesOf(flags: RangeFlags): NodeIpamOptions {
  const cidrs = flags.clusterCidr?.split(",") ?? [];
  const families = new Set(cidrs.map(isIpv6Cidr));
  if (cidrs.length === 0) throw new FlagError("--allocate-node-cidrs needs --cluster-cidr");
  if (cidrs.length > 2 || families.size !== cidrs.length) {
    throw new FlagError("--cluster-cidr: one range, or one of each family");
  }
  const { size, sizeIpv4, sizeIpv6 } = flags;
  if (
    size !== undefined &&
    (cidrs.length === 2 || sizeIpv4 !== undefined || sizeIpv6 !== undefined)
  )
    throw new FlagError("--node-cidr-mask-size is for one family: use those with -ipv4 and -ipv6");
  const pools = cidrs.map((cidr) => {
    const bits = isIpv6Cidr(cidr) ? (sizeIpv6 ?? SIZES.IPv6) : (sizeIpv4 ?? SIZES.IPv4);
    const pool = poolOf(cidr, size ?? bits);
    if ("fault" in pool) throw new FlagError(`--cluster-cidr: ${pool.fault}`);
    return pool;
  });
  return { pools, reserved: flags.serviceRange?.split(",") ?? [] };
}
