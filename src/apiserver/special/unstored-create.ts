/**
 * Creates that are answered instead of stored. They go the way of other creates (write-object.ts) up to
 * validating admission, and end with an answer where those end in the store.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { type BodyExpectation, decodeBody } from "../request/decode-body.ts";
import type { RunVerb } from "../request/dispatch.ts";
import { type WriteOptions, writeOptions } from "../request/query-options.ts";
import type { VerbRequest } from "../request/verb.ts";
import type { ApiValue } from "../response/answer.ts";
import { admitOnly } from "../write/admit-write.ts";
import { trackCreate } from "../write/managed-fields.ts";
import { settleNamespace, wipeSystemFields } from "../write/object-metadata.ts";

export interface UnstoredCreate<T> {
  expect(verb: VerbRequest): BodyExpectation;
  /** Metadata that the client sends has a meaning of its own here and is kept. */
  readonly keepsMetadata?: boolean;
  /** The object with its defaults. */
  withDefaults?(object: T): T;
  /** What is wrong with the object, before validating admission sees it. */
  validate?(object: T, verb: VerbRequest): Status | undefined;
  answer(object: T, verb: VerbRequest, options: WriteOptions): Promise<Result<ApiValue>>;
}

export function unstoredCreate<T extends KubeObject>(create: UnstoredCreate<T>): RunVerb {
  const run: RunVerb = async (verb) => {
    const { resource, info, warn } = verb;
    const options = writeOptions(verb.request.query, "CreateOptions");
    if (!options.ok) return options;
    const expected = create.expect(verb);
    const { fieldValidation } = options.value;
    const decoded = await verb.pace.run(decodeBody(verb.request, expected, fieldValidation, warn));
    if (!decoded.ok) return decoded;
    const given = decoded.value as Draft<T>;
    const object = (create.withDefaults?.(given as T) ?? given) as Draft<KubeObject>;
    const { schema, group, version } = expected;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    verb.sent?.({ kind: expected.kind, apiVersion, ...object });
    if (!create.keepsMetadata) wipeSystemFields(object.metadata);
    const namespaced = resource.kind.scope === "Namespaced";
    const placed = settleNamespace(object.metadata, namespaced ? info.namespace : "");
    if (!placed.ok) return placed;
    trackCreate(verb, object, options.value, { type: { schema, apiVersion } });
    const request = {
      operation: "CREATE",
      object,
      options: options.value.raw,
      dryRun: options.value.dryRun,
      type: { group, version, kind: expected.kind },
    } as const;
    const admitted = await admitOnly(verb, request, (one) =>
      create.validate?.(one as KubeObject as T, verb),
    );
    if (!admitted.ok) return admitted;
    const answered = await create.answer(admitted.value as KubeObject as T, verb, options.value);
    if (!answered.ok) return answered;
    return success({ code: 201, body: { form: "value", value: answered.value } });
  };
  return Object.assign(run, { tables: false });
}

/** The response of a create without a result. */
export const CREATED: ApiValue = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code: 201,
} as ApiValue;
