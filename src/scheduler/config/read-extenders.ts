/** Reads the extenders of a KubeSchedulerConfiguration. */

import { isExtendedResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import { parseDuration } from "#api/meta/duration.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import type { ExtenderConfig } from "./extender-config.ts";

const TIMEOUT_MS = 5_000;

type Json = Readonly<Record<string, unknown>>;

export function readExtenders(value: unknown, errors: FieldError[]): readonly ExtenderConfig[] {
  const path = Path.of("extenders");
  const list = Array.isArray(value) ? (value as readonly Json[]) : [];
  const managed = new Set<string>();
  const extenders = list.map((one, index) => {
    const extender = readExtender(one, path.index(index), errors);
    checkManagedResources(extender.managedResources, path.index(index), managed, errors);
    return extender;
  });
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== "").length;
  if (binders > 1) {
    const found = `found ${binders} extenders implementing bind`;
    errors.push(invalid(path, found, "only one extender can implement bind"));
  }
  return extenders;
}

function readExtender(one: Json, path: Path, errors: FieldError[]): ExtenderConfig {
  const text = (name: string): string => String(one[name] ?? "");
  const weight = Number(one.weight ?? 0);
  if (text("prioritizeVerb") !== "" && weight <= 0) {
    errors.push(invalid(path.child("weight"), weight, "must have a positive weight applied to it"));
  }
  const tls = (one.tlsConfig ?? {}) as Json;
  const managed = Array.isArray(one.managedResources) ? (one.managedResources as Json[]) : [];
  const timeout = parseDuration(text("httpTimeout"));
  return {
    urlPrefix: text("urlPrefix"),
    filterVerb: text("filterVerb"),
    prioritizeVerb: text("prioritizeVerb"),
    bindVerb: text("bindVerb"),
    preemptVerb: text("preemptVerb"),
    weight,
    tls: {
      insecure: tls.insecure === true || (one.enableHTTPS === true && !hasCa(tls)),
      serverName: String(tls.serverName ?? ""),
      ca: decoded(tls.caData),
      cert: decoded(tls.certData),
      key: decoded(tls.keyData),
      caFile: String(tls.caFile ?? ""),
      certFile: String(tls.certFile ?? ""),
      keyFile: String(tls.keyFile ?? ""),
    },
    httpTimeoutMs:
      timeout.ok && timeout.nanos > 0n ? Number(timeout.nanos / 1_000_000n) : TIMEOUT_MS,
    nodeCacheCapable: one.nodeCacheCapable === true,
    managedResources: managed.map(({ name }) => String(name ?? "")),
    ignoredResources: managed
      .filter(({ ignoredByScheduler }) => ignoredByScheduler === true)
      .map(({ name }) => String(name ?? "")),
    ignorable: one.ignorable === true,
  };
}

function hasCa({ caData, caFile }: Json): boolean {
  return caData !== undefined || String(caFile ?? "") !== "";
}

function checkManagedResources(
  names: readonly string[],
  extender: Path,
  known: Set<string>,
  errors: FieldError[],
): void {
  for (const [index, name] of names.entries()) {
    const path = extender.child("managedResources").index(index).child("name");
    const faults = isQualifiedName(name);
    errors.push(...faults.map((fault) => invalid(path, name, fault)));
    if (faults.length === 0 && !isExtendedResource(name)) {
      errors.push(invalid(path, name, "is an invalid extended resource name"));
    }
    if (known.has(name)) {
      errors.push(invalid(path, name, "duplicate extender managed resource name"));
    }
    known.add(name);
  }
}

function decoded(value: unknown): string | undefined {
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}
