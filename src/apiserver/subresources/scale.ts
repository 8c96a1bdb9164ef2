/** …/scale: the replica counts of a workload under one common shape. */
import { managersAfterScale, type ReplicasPaths, scaleManagers } from "#api/apply/scale.ts";
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { formatSelector, selectorFromLabels, selectorOf } from "#api/meta/label-selector.ts";
import {
  conflictStatus,
  failure,
  internalErrorStatus,
  invalidStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { validateKubeMeta } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { groupResourceOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { revisionAs } from "../storage/convert.ts";
import type { Revision } from "../storage/revision.ts";
import { readObject } from "../verbs/get.ts";
import { decodePatch, decodeUpdate } from "../write/decode-write.ts";
import type { ObjectWrite, SubresourceView } from "../write/object-write.ts";
import { writeObject } from "../write/write-object.ts";
import { scaleKind } from "./scale-kind.ts";

export async function getScale(verb: VerbRequest): Promise<VerbResult> {
  const found = await readObject(verb);
  if (!found.ok) return found;
  const { custom, scale } = verb.resource.kind;
  const path = scale?.specReplicas ?? "";
  if (custom !== undefined && readPath(found.value.value, path) === undefined) {
    const why = `the spec replicas field ${goQuote(path)} does not exist`;
    return failure(internalErrorStatus(why));
  }
  return await answerWith(verb, found.value);
}

export async function updateScale(verb: VerbRequest): Promise<VerbResult> {
  const write = await verb.pace.run(decodeUpdate(verb, scaleView(verb)));
  return write.ok ? await rescale(verb, write.value) : write;
}

export async function patchScale(verb: VerbRequest): Promise<VerbResult> {
  const write = decodePatch(verb, scaleView(verb));
  return write.ok ? await rescale(verb, write.value) : write;
}

async function rescale(verb: VerbRequest, write: ObjectWrite): Promise<VerbResult> {
  const written = await writeObject(verb, write);
  return written.ok ? await answerWith(verb, written.value.revision) : written;
}

type ScaleObject = Scale & KubeObject;

function scaleView(verb: VerbRequest): SubresourceView {
  const { apiVersion, scale } = verb.resource.kind;
  const owners = { [apiVersion]: steps(scale!.specReplicas).map((step) => `f:${step}`) };
  return {
    kind: scaleKind,
    of: (object) => {
      const shown = scaleOf(verb, object);
      const managedFields = scaleManagers(object.metadata.managedFields, owners);
      return {
        ...shown,
        metadata: { ...shown.metadata, ...given({ managedFields }) },
      } as ScaleObject;
    },
    check: (view, object) => {
      const fault = checkScale(view as ScaleObject);
      return fault.ok ? checkUid(verb, view as ScaleObject, object) : fault;
    },
    into: (object, view) => rescaled(verb, object, view as ScaleObject, owners),
  };
}

/** The object with the replicas, the version and the managers that the scale says. */
function rescaled(
  { resource }: VerbRequest,
  current: KubeObject,
  scale: ScaleObject,
  owners: ReplicasPaths,
): Draft<KubeObject> {
  const next = structuredClone(current) as Draft<KubeObject>;
  setPath(next, resource.kind.scale!.specReplicas, scale.spec?.replicas ?? 0);
  const said = scale.metadata.resourceVersion ?? "";
  if (said !== "") next.metadata.resourceVersion = said;
  const managers = managersAfterScale(
    current.metadata.managedFields,
    scale.metadata.managedFields,
    owners,
    resource.kind.apiVersion,
  );
  if (managers === undefined) delete next.metadata.managedFields;
  else next.metadata.managedFields = managers as NonNullable<typeof next.metadata.managedFields>;
  return next;
}

function checkScale({ metadata, spec }: ScaleObject): Result<undefined> {
  const replicas = spec?.replicas ?? 0;
  const errors = [
    ...validateKubeMeta(metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateNonNegative(replicas, Path.of("spec", "replicas")),
  ];
  if (errors.length === 0) return success(undefined);
  const kind = { group: "autoscaling", kind: "Scale" };
  return failure(invalidStatus(kind, metadata.name ?? "", errors));
}

/** A patch may name another uid than the object has. */
function checkUid(
  verb: VerbRequest,
  { metadata }: ScaleObject,
  current: KubeObject,
): Result<undefined> {
  const { uid = "" } = metadata;
  if (uid === "" || uid === current.metadata.uid) return success(undefined);
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`;
  const { group, resource } = groupResourceOf(verb.resource);
  const subject = { group, resource: `${resource}/scale` };
  return failure(conflictStatus(subject, verb.info.name, why));
}

async function answerWith(verb: VerbRequest, revision: Revision): Promise<VerbResult> {
  const object = await revisionAs(verb.resource.kind, revision);
  if (!object.ok) return object;
  const value = scaleOf(verb, object.value.value);
  return success({ code: 200, body: { form: "value", value, columns: scaleKind.columns } });
}

function scaleOf({ resource }: VerbRequest, object: KubeObject): Scale {
  const paths = resource.kind.scale!;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = Number(readPath(object, paths.specReplicas) ?? 0);
  const selector = selectorText(readPath(object, paths.selector));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: given({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: Number(readPath(object, paths.statusReplicas) ?? 0),
      ...(selector === "" ? {} : { selector }),
    },
  } as Scale;
}

/** A LabelSelector, the plain map of a ReplicationController or a custom resource's text, as text. */
function selectorText(selector: unknown): string {
  if (typeof selector === "string") return selector;
  if (typeof selector !== "object" || selector === null) return "";
  if (!("matchLabels" in selector) && !("matchExpressions" in selector)) {
    return formatSelector(selectorFromLabels(selector as Record<string, string>));
  }
  const parsed = selectorOf(selector as LabelSelector);
  return parsed.ok ? formatSelector(parsed.value) : "";
}

function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** `.spec.replicas` */
function readPath(object: unknown, path: string): unknown {
  return steps(path).reduce<unknown>(
    (value, step) => (value as Record<string, unknown> | undefined)?.[step],
    object,
  );
}

function setPath(object: object, path: string, value: unknown): void {
  const all = steps(path);
  let inside = object as Record<string, unknown>;
  for (const step of all.slice(0, -1)) {
    inside[step] ??= {};
    inside = inside[step] as Record<string, unknown>;
  }
  inside[all.at(-1)!] = value;
}

function steps(path: string): string[] {
  return path.replace(/^\./, "").split(".");
}
