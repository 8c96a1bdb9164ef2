/**
 * Which IP families a Service gets, given what the cluster has. Decided before any address is
 * allocated.
 */
import type { Service, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { familyOf, type IpFamily, sameList, validateClusterIps } from "./cluster-ips.ts";

/** What the cluster can give: the families of its service ranges, the default first. */
export type ClusterFamilies = readonly [IpFamily, IpFamily?];

const CLUSTER_IPS = Path.of("spec", "clusterIPs");
const IP_FAMILIES = Path.of("spec", "ipFamilies");
const POLICY = Path.of("spec", "ipFamilyPolicy");

/**
 * Decides policy and families of a Service, given what the cluster has. The faults that it returns
 * end the request before any other rule is asked.
 */
export function decideFamilies(
  draft: Draft<Service>,
  old: Service | undefined,
  cluster: ClusterFamilies,
): FieldError[] {
  const { spec } = draft;
  if (spec.type === "ExternalName") return [];
  if (old !== undefined && staysPreferDualStack(spec, old.spec)) return [];
  const withoutSelector = Object.keys(spec.selector ?? {}).length === 0;
  const openHeadless = spec.clusterIP === "None" && withoutSelector;
  spec.ipFamilyPolicy ??=
    old?.spec.ipFamilyPolicy ?? (openHeadless ? "RequireDualStack" : "SingleStack");

  const malformed = validateClusterIps(draft, old);
  if (malformed.length > 0) return malformed;
  const errors = old === undefined ? [] : reduceFamilies(spec, old.spec);
  errors.push(...validatePolicy(spec), ...inferFamilies(spec, cluster));
  if (errors.length > 0) return errors;

  // Without a selector the endpoints may be of any family, whatever the cluster has.
  if (openHeadless) {
    spec.ipFamilies = completeFamilies(spec, cluster[0], true);
    return [];
  }
  const unavailable = validateAvailable(spec, cluster);
  if (unavailable.length > 0) return unavailable;
  spec.ipFamilies = completeFamilies(spec, cluster[0], cluster[1] !== undefined);
  return [];
}

/** Such a Service is not moved when the cluster gains or loses a family. */
function staysPreferDualStack(spec: ServiceSpec, old: ServiceSpec): boolean {
  return (
    spec.ipFamilyPolicy === "PreferDualStack" &&
    (old.ipFamilyPolicy ?? "PreferDualStack") === "PreferDualStack" &&
    spec.type === old.type &&
    ["ClusterIP", "NodePort", "LoadBalancer"].includes(spec.type ?? "") &&
    sameList(spec.clusterIPs, old.clusterIPs) &&
    sameList(spec.ipFamilies, old.ipFamilies)
  );
}

/** SingleStack releases the second address by itself; otherwise leaving it out is a fault. */
function reduceFamilies(spec: Draft<ServiceSpec>, old: ServiceSpec): FieldError[] {
  const { clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const [ipsBefore, familiesBefore] = [old.clusterIPs ?? [], old.ipFamilies ?? []];
  if (ipFamilyPolicy === "SingleStack") {
    if (sameList(clusterIPs, ipsBefore) && clusterIPs.length > 1) {
      spec.clusterIPs = clusterIPs.slice(0, 1);
    }
    if (sameList(ipFamilies, familiesBefore) && ipFamilies.length > 1) {
      spec.ipFamilies = ipFamilies.slice(0, 1);
    }
    return [];
  }
  const errors: FieldError[] = [];
  if (clusterIPs.length > 0 && clusterIPs.length < ipsBefore.length) {
    const detail = "must be 'SingleStack' to release the secondary cluster IP";
    errors.push(invalid(POLICY, ipFamilyPolicy, detail));
  }
  if (ipFamilies.length > 0 && ipFamilies.length < familiesBefore.length) {
    const detail = "must be 'SingleStack' to release the secondary IP family";
    errors.push(invalid(POLICY, ipFamilyPolicy, detail));
  }
  return errors;
}

function validatePolicy({ clusterIPs = [], ipFamilies = [], ipFamilyPolicy }: ServiceSpec) {
  if (ipFamilyPolicy !== "SingleStack") return [];
  const several = { "cluster IPs": clusterIPs, "IP families": ipFamilies };
  return Object.entries(several).flatMap(([what, list]) => {
    if (list.length !== 2) return [];
    const detail = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    return [invalid(POLICY, ipFamilyPolicy, detail)];
  });
}

/** The families of addresses that were given without them. */
function inferFamilies(spec: Draft<ServiceSpec>, cluster: ClusterFamilies): FieldError[] {
  const { clusterIPs = [] } = spec;
  const families = [...(spec.ipFamilies ?? [])];
  const errors: FieldError[] = [];
  for (const [i, ip] of clusterIPs.entries()) {
    if (ip === "None") break;
    if (i < families.length) continue;
    const family = familyOf(ip);
    if (cluster.includes(family)) families.push(family);
    else {
      const detail = `${family} is not configured on this cluster`;
      errors.push(invalid(CLUSTER_IPS.index(i), clusterIPs, detail));
    }
  }
  if (families.length > 0) spec.ipFamilies = families;
  return errors;
}

function validateAvailable(
  { ipFamilyPolicy, ipFamilies = [] }: ServiceSpec,
  cluster: ClusterFamilies,
): FieldError[] {
  const errors: FieldError[] = [];
  if (ipFamilyPolicy === "RequireDualStack" && cluster[1] === undefined) {
    const detail = "this cluster is not configured for dual-stack services";
    errors.push(invalid(POLICY, ipFamilyPolicy, detail));
  }
  for (const [i, family] of ipFamilies.entries()) {
    if ((cluster as readonly string[]).includes(family)) continue;
    errors.push(invalid(IP_FAMILIES.index(i), family, "not configured on this cluster"));
  }
  return errors;
}

function completeFamilies(
  { ipFamilies = [], ipFamilyPolicy }: ServiceSpec,
  primary: IpFamily,
  addSecond: boolean,
): string[] {
  const [first = primary, ...rest] = ipFamilies;
  if (rest.length > 0 || ipFamilyPolicy === "SingleStack" || !addSecond) return [first, ...rest];
  return [first, first === "IPv4" ? "IPv6" : "IPv4"];
}
