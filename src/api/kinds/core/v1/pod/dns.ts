/** How a pod resolves names, and under which names it is known itself. */
import type { HostAlias, PodDNSConfig, PodSpec } from "#api/generated/core.v1.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { isIp } from "#api/validation/ip.ts";
import { isDns1123Subdomain, isDns1123SubdomainWithUnderscore } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const NAMESERVERS_MAX = 3;
const SEARCHES_MAX = 32;
const SEARCH_LIST_MAX = 2048;
const HOSTNAME_MAX = 64;

export function validateDnsPolicy(
  { dnsPolicy = "" }: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("dnsPolicy");
  if (dnsPolicy === "") errors.push(required(at, ""));
  else if (!POLICIES.includes(dnsPolicy)) errors.push(notSupported(at, dnsPolicy, POLICIES));
}

export function validateDnsConfig(
  { dnsPolicy, dnsConfig }: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (dnsPolicy === "None") {
    if (dnsConfig === undefined) {
      errors.push(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
    } else if ((dnsConfig.nameservers ?? []).length === 0) {
      const detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      errors.push(required(path.child("nameservers"), detail));
      return;
    }
  }
  if (dnsConfig !== undefined) validateConfig(dnsConfig, path, errors);
}

export function validateHostAliases(
  aliases: readonly HostAlias[],
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { ip, hostnames = [] }] of aliases.entries()) {
    const at = path.index(i);
    for (const fault of isIp(ip)) errors.push(invalid(at.child("ip"), ip, fault));
    for (const [j, name] of hostnames.entries()) {
      const namePath = at.child("hostnames").index(j);
      for (const fault of isDns1123Subdomain(name)) errors.push(invalid(namePath, name, fault));
    }
  }
}

export function validateHostnameOverride(spec: PodSpec, path: Path, errors: FieldError[]): void {
  const { hostnameOverride } = spec;
  if (hostnameOverride === undefined) return;
  const at = path.child("hostnameOverride");
  if (spec.setHostnameAsFQDN === true) {
    errors.push(forbidden(at, "may not be specified when setHostnameAsFQDN is true"));
  }
  if (spec.hostNetwork === true) {
    errors.push(forbidden(at, "may not be specified when hostNetwork is true"));
  }
  if (utf8Length(hostnameOverride) > HOSTNAME_MAX) errors.push(tooLong(at, HOSTNAME_MAX));
  for (const fault of isDns1123Subdomain(hostnameOverride)) {
    errors.push(invalid(at, hostnameOverride, fault));
  }
}

function validateConfig(
  { nameservers = [], searches = [], options = [] }: PodDNSConfig,
  path: Path,
  errors: FieldError[],
): void {
  const serversPath = path.child("nameservers");
  if (nameservers.length > NAMESERVERS_MAX) {
    const detail = `must not have more than ${NAMESERVERS_MAX} nameservers`;
    errors.push(invalid(serversPath, nameservers, detail));
  }
  for (const [i, server] of nameservers.entries()) {
    for (const fault of isIp(server)) errors.push(invalid(serversPath.index(i), server, fault));
  }
  validateSearches(searches, path.child("searches"), errors);
  for (const [i, { name = "" }] of options.entries()) {
    if (name === "") errors.push(required(path.child("options").index(i), "must not be empty"));
  }
}

function validateSearches(searches: readonly string[], path: Path, errors: FieldError[]): void {
  if (searches.length > SEARCHES_MAX) {
    const detail = `must not have more than ${SEARCHES_MAX} search paths`;
    errors.push(invalid(path, searches, detail));
  }
  if (utf8Length(searches.join(" ")) > SEARCH_LIST_MAX) {
    const detail = `must not have more than ${SEARCH_LIST_MAX} characters (including spaces) in the search list`;
    errors.push(invalid(path, searches, detail));
  }
  for (const [i, search] of searches.entries()) {
    if (search === ".") continue;
    const name = search.endsWith(".") ? search.slice(0, -1) : search;
    for (const fault of isDns1123SubdomainWithUnderscore(name)) {
      errors.push(invalid(path.index(i), name, fault));
    }
  }
}
