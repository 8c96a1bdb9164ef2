/** Validation of the load balancer fields in a Service's spec and status. */
import type { LoadBalancerStatus, Service, ServiceSpec } from "#api/generated/core.v1.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isCidr, isIp, parseIp } from "#api/validation/ip.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { isLoadBalancer } from "./types.ts";

const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";
const IP_MODES = ["Proxy", "VIP"];
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'";
const SPEC = Path.of("spec");

export function validateLoadBalancerClass({ type, loadBalancerClass }: ServiceSpec): FieldError[] {
  if (loadBalancerClass === undefined) return [];
  const path = SPEC.child("loadBalancerClass");
  if (type !== "LoadBalancer") return [forbidden(path, ONLY_LOAD_BALANCER)];
  return isQualifiedName(loadBalancerClass).map((fault) => invalid(path, loadBalancerClass, fault));
}

export function validateLoadBalancerStatus(
  { ingress = [] }: LoadBalancerStatus,
  old: LoadBalancerStatus,
  spec: ServiceSpec,
): FieldError[] {
  const path = Path.of("status", "loadBalancer", "ingress");
  if (!isLoadBalancer(spec) && ingress.length > 0) {
    return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  const known = (old.ingress ?? []).map(({ ip }) => ip);
  return ingress.flatMap(({ ip = "", ipMode, hostname = "" }, i) => {
    const at = path.index(i);
    const errors: FieldError[] = [];
    if (ip !== "" && !known.includes(ip)) {
      errors.push(...isIp(ip).map((fault) => invalid(at.child("ip"), ip, fault)));
    }
    if (ipMode === undefined) {
      if (ip !== "")
        errors.push(required(at.child("ipMode"), "must be specified when `ip` is set"));
    } else if (ip === "") {
      errors.push(forbidden(at.child("ipMode"), "may not be specified when `ip` is not set"));
    } else {
      errors.push(...oneOf(ipMode, IP_MODES, at.child("ipMode")));
    }
    if (hostname === "") return errors;
    for (const fault of isDns1123Subdomain(hostname)) {
      errors.push(invalid(at.child("hostname"), hostname, fault));
    }
    if (parseIp(hostname) !== undefined) {
      const detail = "must be a DNS name, not an IP address";
      errors.push(invalid(at.child("hostname"), hostname, detail));
    }
    return errors;
  });
}

/** The field, or the annotation that came before it. */
export function validateSourceRanges(
  { metadata, spec }: Service,
  old: Service | undefined,
): FieldError[] {
  const { type, loadBalancerSourceRanges: ranges = [] } = spec;
  const check = (text: string, at: Path): FieldError[] =>
    isCidr(text).map((fault) => invalid(at, text, fault));
  const annotation = metadata.annotations?.[SOURCE_RANGES];
  const errors: FieldError[] = [];
  if (ranges.length > 0) {
    const path = SPEC.child("LoadBalancerSourceRanges");
    if (type !== "LoadBalancer") errors.push(forbidden(path, ONLY_LOAD_BALANCER));
    const known = (old?.spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
    for (const [i, range] of ranges.map((text) => text.trim()).entries()) {
      if (!known.includes(range)) errors.push(...check(range, path.index(i)));
    }
  } else if (annotation !== undefined) {
    const path = METADATA.child("annotations").key(SOURCE_RANGES);
    if (type !== "LoadBalancer") errors.push(forbidden(path, ONLY_LOAD_BALANCER));
    const unchanged = old?.metadata.annotations?.[SOURCE_RANGES] === annotation;
    if (unchanged || annotation.trim() === "") return errors;
    for (const range of annotation.trim().split(",")) errors.push(...check(range.trim(), path));
  }
  return errors;
}

export function validateNodePortAllocation(spec: ServiceSpec): FieldError[] {
  const given = spec.allocateLoadBalancerNodePorts !== undefined;
  if (given && !isLoadBalancer(spec)) {
    return [forbidden(SPEC.child("allocateLoadBalancerNodePorts"), ONLY_LOAD_BALANCER)];
  }
  if (given || !isLoadBalancer(spec)) return [];
  return [required(Path.of("allocateLoadBalancerNodePorts"), "")];
}

/** A text that is one of a few, if it is there at all. */
export function oneOf(
  value: string | undefined,
  supported: readonly string[],
  path: Path,
): FieldError[] {
  if (value === undefined || supported.includes(value)) return [];
  return [notSupported(path, value, supported)];
}
