/**
 * Which objects were applied from which file, so that they can be removed when the file or the object
 * goes, also after a restart. Kept in the cluster as a ConfigMap of kube-system, with what is wrong.
 */
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import type { Client } from "#client/client.ts";

export const INVENTORY_NAMESPACE = "kube-system";
export const INVENTORY_LABEL = "k8ts.local/manifests";

export interface AppliedObject {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** "" for kinds of the cluster. */
  readonly namespace: string;
  readonly name: string;
  /** Of an object of which the applier owns no field, because its manifest has nothing but a name. */
  readonly uid?: string;
}

interface Inventory {
  readonly objects: readonly AppliedObject[];
  readonly faults: readonly string[];
}

export async function readInventory(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<Inventory> {
  const found = await client.get(configMapKind, { namespace: INVENTORY_NAMESPACE, name }, signal);
  if (found.ok) return inventoryOf(found.value);
  if (found.status.code === 404) return { objects: [], faults: [] };
  throw new Error(found.status.message);
}

export function inventoryOf({ data = {} }: ConfigMap): Inventory {
  return {
    objects: JSON.parse(data.objects ?? "[]") as readonly AppliedObject[],
    faults: JSON.parse(data.faults ?? "[]") as readonly string[],
  };
}

export async function writeInventory(
  client: Client,
  name: string,
  { objects, faults }: Inventory,
  signal: AbortSignal,
): Promise<void> {
  const body: ConfigMap = {
    ...{ apiVersion: "v1", kind: "ConfigMap" },
    metadata: { name, namespace: INVENTORY_NAMESPACE, labels: { [INVENTORY_LABEL]: "true" } },
    data: { objects: JSON.stringify(objects), faults: JSON.stringify(faults) },
  };
  const key = { namespace: INVENTORY_NAMESPACE, name };
  const written = await client.patch(configMapKind, key, "apply", body, { force: true }, signal);
  if (!written.ok) throw new Error(written.status.message);
}
