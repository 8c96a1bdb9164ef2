/** Takes an object through a kind's rules as a write would, for tests of kinds. */

import { normalize } from "#api/codec/json.ts";
import type { Kind, KindOf, KubeObject, NameRule, RuleContext } from "#api/kind.ts";
import { objectOf } from "#api/members.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import { finish } from "#lib/async/steps.ts";

export interface Write {
  /** Plain JSON; apiVersion, kind and, if it is missing, a name and a namespace are filled in. */
  readonly object: object;
  /** With it the write is an update. */
  readonly old?: object;
  /** The write goes to `…/name/<subresource>`. */
  readonly subresource?: string;
  readonly nowMs?: number;
  /** What else the rules may know. */
  readonly context?: Partial<RuleContext>;
}

export interface Outcome<T extends KubeObject = KubeObject> {
  readonly object: T;
  /** `spec.a: Required value`; without those that a kind finds twice. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

export function runKind<T extends KubeObject>(kind: KindOf<T>, write: Write): Outcome<T> {
  const { object, old, subresource, nowMs = 0 } = write;
  const draft = normal(kind, object);
  const context = { nowMs, requestName: "x", ...write.context };
  const before = old === undefined ? undefined : prepared(kind, old);
  kind.defaults?.(draft);
  const part = subresource === undefined ? undefined : kind.subresources?.[subresource];
  if (before === undefined) kind.prepareCreate?.(draft, context);
  else (part ?? kind).prepareUpdate?.(draft, before, context);

  const own =
    before === undefined
      ? kind.validate?.(draft, context)
      : (part ?? kind).validateUpdate?.(draft, before, context);
  const ofMetadata = before === undefined ? metadataErrors(kind, draft) : [];
  const errors = [...ofMetadata, ...finish(fieldErrorSteps(own))];
  kind.canonicalize?.(draft);
  return {
    object: normal(kind, draft) as T,
    faults: [...new Set(errors.map((error) => `${error.field}: ${formatFieldError(error)}`))],
    warnings: (part ?? kind).warnings?.(draft, before) ?? [],
  };
}

/** The cells of an object's row, as `kubectl get -o wide` would show them at this time. */
export function cellsOf(kind: Kind, { object }: Outcome, nowMs = 0): readonly unknown[] {
  return kind.columns.map((column) => column.cell(object, nowMs));
}

function metadataErrors(kind: Kind, object: KubeObject) {
  if (kind.transient) return [];
  const namespaced = kind.scope === "Namespaced";
  const nameRule: NameRule = (name, prefix) => kind.nameRule(name, prefix, object);
  return validateObjectMeta(object.metadata, { namespaced, nameRule }, METADATA);
}

function prepared(kind: Kind, value: object): KubeObject {
  const object = normal(kind, value);
  kind.defaults?.(object);
  kind.canonicalize?.(object);
  return normal(kind, object);
}

function normal(kind: Kind, value: object): KubeObject {
  const { metadata, ...rest } = value as { metadata?: object };
  const decoded = normalize(kind.schema(), {
    ...rest,
    apiVersion: kind.apiVersion,
    kind: kind.names.kind,
    metadata: {
      ...(kind.transient ? {} : { name: "x", resourceVersion: "1" }),
      ...(kind.scope === "Namespaced" ? { namespace: "ns" } : {}),
      ...metadata,
    },
  });
  if (!decoded.ok) throw new Error(decoded.error);
  return objectOf(decoded.value);
}
