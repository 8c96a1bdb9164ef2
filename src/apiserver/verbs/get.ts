/** GET of one object. */

import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { invalid } from "#api/validation/field-error.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { isTrue } from "../request/request-info.ts";
import { notFound, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { revisionAs } from "../storage/convert.ts";
import { keyOf } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";

export async function get(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request, parts } = verb;
  if (isTrue(request.query.get("export"))) {
    const gone = "the export parameter, deprecated since v1.14, is no longer supported";
    return failure(badRequestStatus(gone));
  }
  const asked = request.query.get("resourceVersion") ?? "";
  if (asked !== "") {
    const revision = parseResourceVersion(asked);
    if (!revision.ok) return revision;
    const objects = parts.objects.storeOf(resource.stored);
    const reached = await objects.notOlderThan(revision.value);
    if (!reached.ok) return reached;
    const cache = objects.cacheOf(resource.stored);
    const key = keyOf(resource.stored, info.namespace, info.name);
    const cached = cache.get(key);
    if (!cache.unreadable.has(key)) {
      if (cached === undefined) return failure(notFound(verb, info.name));
      return await answerWith(verb, cached);
    }
  }
  const found = await readObject(verb);
  return found.ok ? await answerWith(verb, found.value) : found;
}

async function answerWith({ resource }: VerbRequest, revision: Revision): Promise<VerbResult> {
  const converted = revisionAs(resource.kind, revision);
  const object = converted instanceof Promise ? await converted : converted;
  return object.ok
    ? success({ code: 200, body: { form: "object", object: object.value } })
    : object;
}

/** The object that the request names, as it is now, in the stored version. */
export async function readObject(verb: VerbRequest): Promise<Result<Revision>> {
  const { resource, info, parts } = verb;
  const { stored } = resource;
  const found = await parts.objects.read(stored, keyOf(stored, info.namespace, info.name));
  if (!found.ok) return found;
  return found.value === undefined ? failure(notFound(verb, info.name)) : success(found.value);
}

/** "" and "0" mean: any. */
export function parseResourceVersion(text: string): Result<number> {
  const version = readVersion(text);
  return typeof version === "number" ? success(version) : failure(unknownStatus(version.fault));
}

/** The same where a bad one is the client's fault. */
export function parseListVersion(text: string): Result<number> {
  const version = readVersion(text);
  if (typeof version === "number") return success(version);
  return failure(badRequestStatus(`invalid resource version: ${version.fault}`));
}

const UINT64_LIMIT = 2 ** 64;

function readVersion(text: string): number | { readonly fault: string } {
  if (text === "") return 0;
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number < UINT64_LIMIT) return number;
  const why = Number.isNaN(number) ? "invalid syntax" : "value out of range";
  const error = `strconv.ParseUint: parsing ${goQuote(text)}: ${why}`;
  const path = Path.of("resourceVersion");
  return { fault: `${path}: ${formatFieldError(invalid(path, text, error))}` };
}
