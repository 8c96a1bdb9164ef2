/** The ranges of pods' addresses in a cluster of `k8ts up`: one for each family of its Services. */
import { isIpv6Cidr } from "#api/validation/ip.ts";

/** A node takes a /24: there is room for 256 nodes. */
const POD_RANGES = { IPv4: "10.244.0.0/16", IPv6: "fd00:10:244::/56" };

/** For clusters with more nodes than that. */
const LARGE_RANGE = "100.64.0.0/10";
const NODES_MAX = 250;

/** `simulated`: how many simulated nodes there are. */
export function podRangesOf(serviceRanges: readonly string[], simulated = 0): readonly string[] {
  const ipv4 = simulated > NODES_MAX ? LARGE_RANGE : POD_RANGES.IPv4;
  return serviceRanges.map((range) => (isIpv6Cidr(range) ? POD_RANGES.IPv6 : ipv4));
}
