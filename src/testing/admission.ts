/** Runs one admission plug-in on an object, as the server would. */
import assert from "node:assert/strict";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { type AdmissionRequest, targetOf } from "#apiserver/admission/admission-request.ts";
import type { AdmissionPlugin } from "#apiserver/admission/plugin.ts";
import type { User } from "#apiserver/request/request.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { MemoryObjects } from "./memory-objects.ts";

/** Fields as a test writes them, right or wrong. */
export type Loose = Record<string, unknown>;

export function looseObject(name: string, fields: Loose = {}, meta: Loose = {}): never {
  return { metadata: { name, namespace: "ns", ...meta }, ...fields } as never;
}

export function loosePod(spec: Loose = {}, meta: Loose = {}): never {
  const containers = [{ name: "c", image: "i" }];
  return looseObject("p", { spec: { containers, ...spec } }, meta);
}

/** Of a pod that was admitted. */
export function specOf({ object }: Admitted<Pod>): Pod["spec"] {
  assert.ok(object);
  return object.spec;
}

export interface Admitted<T extends KubeObject = KubeObject> {
  readonly status: Status | undefined;
  /** After `admit`. */
  readonly object: T | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface AdmitOptions extends Partial<Omit<AdmissionRequest, "kind" | "object" | "warn">> {
  readonly objects?: MemoryObjects;
  readonly user?: User;
  readonly nowMs?: number;
}

/** `admit` and then, if nothing was refused, `validate`. The object is frozen, so that a hook that changes it in place fails. */
export async function admitWith<T extends KubeObject>(
  plugin: AdmissionPlugin,
  kind: KindOf<T>,
  object: KubeObject | undefined,
  options: AdmitOptions = {},
): Promise<Admitted<T>> {
  const { objects = new MemoryObjects(), nowMs = 0, ...changes } = options;
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const request: AdmissionRequest = {
    operation: options.old === undefined ? "CREATE" : "UPDATE",
    kind,
    stored: targetOf(kind),
    requested: targetOf(kind),
    subresource: "",
    namespace: object?.metadata.namespace ?? "",
    name: object?.metadata.name ?? "",
    object: deepFreeze(structuredClone(object)),
    old: undefined,
    options: {},
    dryRun: false,
    user: { name: "tester", groups: ["system:authenticated"] },
    client: new AbortController(),
    warn: (text) => void warnings.push(text),
    annotate: (key, value) => {
      annotations[key] = value;
    },
    ...changes,
  };
  const context = { objects, nowMs };
  const verdict = await plugin.admit?.(request, context);
  const admitted = verdict?.ok ? verdict.value : request.object;
  const status =
    verdict?.ok === false
      ? verdict.status
      : await plugin.validate?.({ ...request, object: admitted }, context);
  return { status, object: admitted as T | undefined, warnings, annotations };
}
