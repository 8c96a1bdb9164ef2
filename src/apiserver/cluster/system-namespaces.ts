/** The namespaces that every cluster has. One that goes away comes back. */

import type { Namespace } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import type { Objects } from "../storage/objects.ts";
import type { Loopback } from "./loopback.ts";

const SYSTEM_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease", "default"];

/** Returns what went wrong. */
export async function ensureSystemNamespaces(loopback: Loopback): Promise<string[]> {
  const ensured = await Promise.all(
    SYSTEM_NAMESPACES.map((name) => loopback.ensure(namespaceKind, namespaceOf(name))),
  );
  return ensured.flatMap((one) => (one.ok ? [] : [one.status.message ?? ""]));
}

export function keepSystemNamespaces(
  objects: Objects,
  loopback: Loopback,
  signal: AbortSignal,
): void {
  objects.onChange(
    namespaceKind,
    (next, old) => {
      const name = old?.metadata.name ?? "";
      if (next !== undefined || !SYSTEM_NAMESPACES.includes(name)) return;
      void loopback.ensure(namespaceKind, namespaceOf(name));
    },
    signal,
  );
}

function namespaceOf(name: string): Namespace {
  return { kind: "Namespace", apiVersion: "v1", metadata: { name }, spec: {}, status: {} };
}
