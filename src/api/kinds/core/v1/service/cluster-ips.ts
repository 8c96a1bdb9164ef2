/**
 * The cluster addresses of a Service and their families: clusterIP is the first of clusterIPs, each
 * address belongs to the family in the same place of ipFamilies, and ipFamilyPolicy says how many
 * there may be. Allocation itself is the server's.
 */
import { keep } from "#api/draft.ts";
import type { Service, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import {
  duplicate,
  type FieldError,
  internalError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isIp, isIpv6, parseIp } from "#api/validation/ip.ts";
import { Path } from "#api/validation/path.ts";
import { isHeadless } from "./types.ts";

export type IpFamily = "IPv4" | "IPv6";

const FAMILIES = ["IPv4", "IPv6"];
const POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const SPEC = Path.of("spec");
const CLUSTER_IPS = SPEC.child("clusterIPs");
const IP_FAMILIES = SPEC.child("ipFamilies");
const POLICY = SPEC.child("ipFamilyPolicy");

/** Brings clusterIPs in line for clients that know only clusterIP. */
export function alignClusterIps({ spec }: Draft<Service>, old: Service | undefined): void {
  const { clusterIP = "", clusterIPs = [] } = spec;
  if (old === undefined) {
    if (clusterIP !== "" && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const before = old.spec.clusterIPs ?? [];
  const sameSingle = clusterIP === (old.spec.clusterIP ?? "");
  if (sameSingle) {
    if (clusterIPs.length === 0 && before.length > 0) spec.clusterIPs = keep(before);
  } else if (sameList(clusterIPs, before)) {
    if (clusterIP === "") delete spec.clusterIPs;
    else spec.clusterIPs = [clusterIP];
  }
}

/** Rules of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy among each other. */
export function validateClusterIps({ spec }: Service, old: Service | undefined): FieldError[] {
  if (spec.type === "ExternalName") return [];
  const { clusterIPs = [], ipFamilies = [] } = spec;
  const errors = [...validateFirst(spec), ...validateFamilies(spec)];

  let sound = true;
  for (const [i, ip] of clusterIPs.entries()) {
    if (i === 0 && ip === "None") {
      if (clusterIPs.length === 1) continue;
      sound = false;
      errors.push(invalid(CLUSTER_IPS, clusterIPs, "'None' must be the first and only value"));
      continue;
    }
    if (old?.spec.clusterIPs?.includes(ip)) continue;
    const faults = isIp(ip);
    if (faults.length > 0) sound = false;
    for (const fault of faults) errors.push(invalid(CLUSTER_IPS.index(i), ip, fault));
  }
  if (clusterIPs.length > 2) {
    errors.push(invalid(CLUSTER_IPS, clusterIPs, "may only hold up to 2 values"));
  }
  if (!sound) return errors;

  if (clusterIPs.length > 1) errors.push(...validateDualStack(clusterIPs));
  if (isHeadless(spec)) return errors;
  for (const [i, ip] of clusterIPs.entries()) {
    const family = ipFamilies[i];
    if (family === undefined || !FAMILIES.includes(family) || familyOf(ip) === family) continue;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${i}]\``;
    errors.push(invalid(CLUSTER_IPS.index(i), ip, detail));
  }
  return errors;
}

/** What an update may do: add or release the second address; the first stays. */
export function validateClusterIpChange(next: Service, old: Service): FieldError[] {
  if (next.spec.type === "ExternalName" || old.spec.type === "ExternalName") return [];
  return [
    ...validateAddressChange(next.spec, old.spec),
    ...validateFamilyChange(next.spec, old.spec),
  ];
}

function validateAddressChange(next: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (isHeadless(next) && isHeadless(old)) return [];
  const { clusterIPs: now = [] } = next;
  const { clusterIPs: before = [] } = old;
  const changed = (i: number) => invalid(CLUSTER_IPS.index(i), now, "may not change once set");
  if (now.length === before.length) {
    return before.flatMap((ip, i) => (ip === now[i] ? [] : changed(i)));
  }
  const errors: FieldError[] = [];
  if (now.length === 0) {
    errors.push(invalid(CLUSTER_IPS.index(0), now, "primary clusterIP can not be unset"));
  } else if (before.length > 0 && now[0] !== before[0]) {
    errors.push(changed(0));
  }
  if (now.length === 1 && before.length > 1) errors.push(...mustBeSingle(next, "clusterIP"));
  return errors;
}

function validateFamilyChange(next: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (isHeadless(next) || isHeadless(old)) return [];
  const { ipFamilies: now = [], clusterIPs = [] } = next;
  const { ipFamilies: before = [] } = old;
  const first = IP_FAMILIES.index(0);
  if (now.length === before.length) {
    return before.flatMap((family, i) =>
      family === now[i] ? [] : invalid(first, now, "may not change once set"),
    );
  }
  const errors: FieldError[] = [];
  if (now.length < before.length && clusterIPs.length === 0) {
    errors.push(invalid(first, now, "primary ipFamily can not be unset"));
  }
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) {
    errors.push(invalid(first, clusterIPs, "may not change once set"));
  }
  if (now.length === 1 && before.length > 1) errors.push(...mustBeSingle(next, "ipFamily"));
  return errors;
}

function mustBeSingle({ ipFamilyPolicy }: ServiceSpec, released: string): FieldError[] {
  if (ipFamilyPolicy === "SingleStack") return [];
  const detail = `must be set to 'SingleStack' when releasing the secondary ${released}`;
  return [invalid(POLICY, ipFamilyPolicy, detail)];
}

function validateFirst({ clusterIP = "", clusterIPs = [] }: ServiceSpec): FieldError[] {
  if (clusterIP === "") {
    if (clusterIPs.length === 0) return [];
    return [invalid(CLUSTER_IPS, clusterIPs, "must be empty when `clusterIP` is not specified")];
  }
  if (clusterIPs.length === 0) return [required(CLUSTER_IPS, "")];
  if (clusterIPs[0] === clusterIP) return [];
  return [invalid(CLUSTER_IPS, clusterIPs, "first value must match `clusterIP`")];
}

function validateFamilies({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, family] of ipFamilies.entries()) {
    if (!FAMILIES.includes(family)) {
      errors.push(notSupported(IP_FAMILIES.index(i), family, FAMILIES));
    }
    if (ipFamilies.indexOf(family) < i) errors.push(duplicate(IP_FAMILIES.index(i), family));
  }
  if (ipFamilyPolicy !== undefined && !POLICIES.includes(ipFamilyPolicy)) {
    errors.push(notSupported(POLICY, ipFamilyPolicy, POLICIES));
  }
  return errors;
}

function validateDualStack(clusterIPs: readonly string[]): FieldError[] {
  const broken = clusterIPs.findIndex((ip) => parseIp(ip) === undefined);
  if (broken >= 0) {
    const detail = `failed to check for dual stack with error:invalid IP[${broken}]: ${clusterIPs[broken]}`;
    return [internalError(CLUSTER_IPS, detail)];
  }
  if (new Set(clusterIPs.map(familyOf)).size === 2) return [];
  const detail = "may specify no more than one IP for each IP family";
  return [invalid(CLUSTER_IPS, clusterIPs, detail)];
}

export function familyOf(ip: string): IpFamily {
  return isIpv6(ip) ? "IPv6" : "IPv4";
}

export function sameList(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
