/** The ranges of pods' addresses in a cluster of `k8ts up`: one for each family of its Services. */
import { isIpv6Cidr } from "#api/validation/ip.ts";

const POD_RANGES = { IPv4: "10.244.0.0/16", IPv6: "fd00:10:244::/56" };

export function podRangesOf(serviceRanges: readonly string[]): readonly string[] {
  return serviceRanges.map((range) => POD_RANGES[isIpv6Cidr(range) ? "IPv6" : "IPv4"]);
}
