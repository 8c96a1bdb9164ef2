/** What a webhook or policy made of an object, read back as an object of its kind with defaults. */
import { normalize } from "#api/codec/json.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import { finish } from "#lib/async/steps.ts";
import type { RequestVersion } from "./matching/request-versions.ts";

export type MutatedObject =
  | { readonly ok: true; readonly value: Draft<KubeObject> }
  | { readonly ok: false; readonly error: string };

/** Unknown fields are dropped. The object stays of the kind that it was. */
export function mutatedObject(document: unknown, { target, kind }: RequestVersion): MutatedObject {
  const { group, version, kind: name } = target.kind;
  const schema = kind?.schema() ?? findSchemaOfKind(group, version, name);
  if (schema === undefined) return { ok: false, error: `no kind "${name}" is registered` };
  const decoded = normalize(schema, document);
  if (!decoded.ok) return decoded;
  const { kind: _, apiVersion: __, ...rest } = decoded.value;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const draft = { kind: name, apiVersion, metadata: {}, ...rest } as Draft<KubeObject>;
  if (kind?.custom !== undefined) finish(kind.custom.prune(draft));
  kind?.defaults?.(draft);
  return { ok: true, value: draft };
}
