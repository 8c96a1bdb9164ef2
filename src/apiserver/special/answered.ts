/** Creates that are answered instead of stored: decode, let admission see it, answer. */
import type { Draft, KubeObject } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { admissionRequest } from "../admission/admission-request.ts";
import { type BodyExpectation, decodeBody } from "../request/decode-body.ts";
import type { RunVerb } from "../request/dispatch.ts";
import { type WriteOptions, writeOptions } from "../request/query-options.ts";
import type { VerbRequest } from "../request/verb.ts";
import type { ApiValue } from "../response/answer.ts";
import { trackCreate } from "../write/managed-fields.ts";
import { settleNamespace, wipeSystemFields } from "../write/object-metadata.ts";

export interface AnsweredCreate<T> {
  expect(verb: VerbRequest): BodyExpectation;
  /** Metadata that the client sends has a meaning of its own here and is kept. */
  readonly keepsMetadata?: boolean;
  /** The object with its defaults. */
  withDefaults?(object: T): T;
  answer(object: T, verb: VerbRequest, options: WriteOptions): Promise<Result<ApiValue>>;
}

export function answeredCreate<T extends KubeObject>(create: AnsweredCreate<T>): RunVerb {
  const run: RunVerb = async (verb) => {
    const { request, resource, info, warn, parts } = verb;
    const options = writeOptions(request.query, "CreateOptions");
    if (!options.ok) return options;
    const expected = create.expect(verb);
    const decoded = decodeBody(request, expected, options.value.fieldValidation, warn);
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
    trackCreate(verb, object, options.value, { schema, apiVersion });
    const admitted = await parts.admission.admit(
      admissionRequest(verb, {
        operation: "CREATE",
        object,
        options: options.value.raw,
        dryRun: options.value.dryRun,
        type: { group, version, kind: expected.kind },
      }),
    );
    if (!admitted.ok) return admitted;
    const answered = await create.answer(admitted.value as KubeObject as T, verb, options.value);
    if (!answered.ok) return answered;
    return success({ code: 201, body: { form: "value", value: answered.value } });
  };
  return Object.assign(run, { tables: false });
}

/** What such a create answers when there is nothing to show. */
export const CREATED: ApiValue = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code: 201,
} as ApiValue;
