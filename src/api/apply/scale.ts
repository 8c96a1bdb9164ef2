/**
 * Managers of the scale subresource: the object's managers that own its replicas, expressed as fields
 * of autoscaling/v1 Scale, and back.
 */
import type { JsonObject } from "#api/patch/json-value.ts";
import { difference, type FieldSet, fieldSet, hasPath, isEmptySet, LEAF } from "./field-set.ts";
import {
  decodeManagers,
  encodeManagers,
  isSameManager,
  type Manager,
  managerId,
  withFields,
} from "./managers.ts";

const SCALE_VERSION = "autoscaling/v1";
const REPLICAS_IN_SCALE = ["f:spec", "f:replicas"];

/** Path elements of the replicas field, per version of the object: `["f:spec", "f:replicas"]`. */
export type ReplicasPaths = Readonly<Record<string, readonly string[]>>;

/** managedFields of the Scale that the object shows. */
export function scaleManagers(
  managedFields: unknown,
  paths: ReplicasPaths,
): readonly JsonObject[] | undefined {
  const owners = managersOf(managedFields).filter(({ apiVersion, fields }) => {
    const path = paths[apiVersion];
    return path !== undefined && hasPath(fields, path);
  });
  const fields = fieldSet(["spec", "replicas"]);
  return encodeManagers(
    owners.map((owner) => ({ ...owner, apiVersion: SCALE_VERSION, fields, entry: undefined })),
    undefined,
  );
}

/** managedFields of the object after a write to its Scale. */
export function managersAfterScale(
  managedFields: unknown,
  scaleManagedFields: unknown,
  paths: ReplicasPaths,
  apiVersion: string,
): readonly JsonObject[] | undefined {
  const scalers = new Map(managersOf(scaleManagedFields).map((one) => [identity(one), one]));
  const result: Manager[] = [];
  for (const manager of managersOf(managedFields)) {
    const path = paths[manager.apiVersion];
    if (path === undefined) continue;
    if (!hasPath(manager.fields, path)) result.push(manager);
    else if (scalers.delete(identity({ ...manager, apiVersion: SCALE_VERSION })))
      result.push(manager);
    else {
      const left = difference(manager.fields, setOf(path));
      if (!isEmptySet(left)) result.push(withFields(manager, left));
    }
  }
  for (const scaler of scalers.values()) {
    if (!hasPath(scaler.fields, REPLICAS_IN_SCALE)) continue;
    // Clients see such an entry without a time.
    const taker = {
      ...scaler,
      apiVersion,
      fields: setOf(paths[apiVersion]!),
      time: undefined,
      entry: undefined,
    };
    const same = result.findIndex((manager) => isSameManager(manager, taker));
    if (same >= 0) result[same] = taker;
    else result.push(taker);
  }
  return encodeManagers(result, undefined);
}

function managersOf(managedFields: unknown): readonly Manager[] {
  const decoded = decodeManagers(managedFields);
  return decoded.ok ? decoded.value : [];
}

function identity(manager: Manager): string {
  return managerId(manager);
}

function setOf(path: readonly string[]): FieldSet {
  return path.reduceRight<FieldSet>((node, element) => ({ [element]: node }), LEAF);
}
