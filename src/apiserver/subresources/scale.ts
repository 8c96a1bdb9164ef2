/** …/scale: the replica counts of a workload under one common shape. */
import { managersAfterScale, type ReplicasPaths, scaleManagers } from "#api/apply/scale.ts";
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { formatSelector, selectorFromLabels, selectorOf } from "#api/meta/label-selector.ts";
import { conflictStatus, failure, invalidStatus, type Result, success } from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { validateKubeMeta } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { bodyBytes } from "../request/body-bytes.ts";
import { decodeBody } from "../request/decode-body.ts";
import { type WriteOptions, writeOptions } from "../request/query-options.ts";
import { groupResourceOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { mediaTypeOf } from "../response/negotiate.ts";
import type { Revision } from "../storage/revision.ts";
import { readObject } from "../verbs/get.ts";
import { PATCH_TYPES } from "../verbs/patch.ts";
import { checkName } from "../verbs/update.ts";
import { applyConfiguration, trackUpdate } from "../write/managed-fields.ts";
import { settleNamespace } from "../write/object-metadata.ts";
import { patchDocument } from "../write/patch-document.ts";
import { updateObject } from "../write/update-object.ts";
import { scaleKind } from "./scale-kind.ts";

export async function getScale(verb: VerbRequest): Promise<VerbResult> {
  const found = await readObject(verb);
  return found.ok ? answerWith(verb, found.value) : found;
}

export async function updateScale(verb: VerbRequest): Promise<VerbResult> {
  const { request } = verb;
  const options = writeOptions(request.query, "UpdateOptions");
  if (!options.ok) return options;
  const { fieldValidation } = options.value;
  const expected = {
    kind: "Scale",
    group: "autoscaling",
    version: "v1",
    schema: schemaOf("autoscaling.v1.Scale"),
  };
  const decoded = decodeBody(request, expected, fieldValidation, verb.warn);
  if (!decoded.ok) return decoded;
  verb.sent?.({ kind: "Scale", apiVersion: "autoscaling/v1", ...decoded.value });
  const placed = settleNamespace(decoded.value.metadata, verb.info.namespace);
  if (!placed.ok) return placed;
  const named = checkName(decoded.value as Draft<KubeObject>, verb.info.name);
  if (!named.ok) return named;
  return await rescale(
    verb,
    options.value,
    () => success(structuredClone(decoded.value) as Draft<ScaleObject>),
    { uid: decoded.value.metadata.uid || undefined },
  );
}

export async function patchScale(verb: VerbRequest): Promise<VerbResult> {
  const { request } = verb;
  const type = PATCH_TYPES[mediaTypeOf(request.headers["content-type"] ?? "")];
  const options = writeOptions(request.query, "PatchOptions", type === "apply");
  if (!options.ok) return options;
  const sent = bodyBytes(request.body);
  if (!sent.ok) return sent;
  const bytes = sent.value;
  verb.sent?.();
  return await rescale(
    verb,
    options.value,
    (current) => {
      const patched =
        type === "apply"
          ? applyConfiguration(verb, current, bytes, options.value, scaleKind)
          : patchDocument(type ?? "merge", current, bytes, scaleKind, options.value, verb.warn);
      return patched as Result<Draft<ScaleObject>>;
    },
    { tracked: type === "apply" },
  );
}

type ScaleObject = Scale & KubeObject;

async function rescale(
  verb: VerbRequest,
  options: WriteOptions,
  wanted: (current: ScaleObject) => Result<Draft<ScaleObject>>,
  { tracked = false, uid }: { readonly tracked?: boolean; readonly uid?: string | undefined },
): Promise<VerbResult> {
  const { resource } = verb;
  const paths = resource.kind.scale!;
  const owners = {
    [resource.kind.apiVersion]: steps(paths.specReplicas).map((step) => `f:${step}`),
  };
  const updated = await updateObject(verb, {
    options,
    uid,
    mayCreate: false,
    subresource: undefined,
    next: (current) => {
      const before = scaleOf(verb, current!);
      const managers = scaleManagers(current!.metadata.managedFields, owners);
      const managed = {
        ...before,
        metadata: { ...before.metadata, ...given({ managedFields: managers }) },
      };
      const scale = wanted(managed as ScaleObject);
      if (!scale.ok) return scale;
      const named = checkName(scale.value as Draft<KubeObject>, verb.info.name);
      if (!named.ok) return named;
      const fault = checkScale(scale.value as ScaleObject);
      if (!fault.ok) return fault;
      const same = checkUid(verb, scale.value as ScaleObject, current!);
      if (!same.ok) return same;
      if (!tracked)
        trackUpdate(
          verb,
          managed as ScaleObject,
          scale.value as Draft<KubeObject>,
          options,
          SCALE_TYPE,
        );
      return success(rescaled(verb, current!, scale.value as ScaleObject, owners));
    },
  });
  return updated.ok ? answerWith(verb, updated.value.revision) : updated;
}

const SCALE_TYPE = { schema: schemaOf("autoscaling.v1.Scale"), apiVersion: "autoscaling/v1" };

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

function answerWith(verb: VerbRequest, revision: Revision): VerbResult {
  const object = revision.as(verb.resource.kind).value;
  const value = scaleOf(verb, object);
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

/** A LabelSelector, or the plain map of a ReplicationController, as text. */
function selectorText(selector: unknown): string {
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
