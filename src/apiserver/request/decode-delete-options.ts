/** The options of a DELETE: from the body if there is one, else from the query. */
import { type Decoded, decodeJson } from "#api/codec/json.ts";
import { decodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  unsupportedMediaTypeStatus,
} from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { bodyEncoding, type Encoding, MEDIA_TYPES } from "../response/negotiate.ts";
import { bodyBytes, bodyYaml } from "./body-bytes.ts";
import { TYPE_META } from "./decode-body.ts";
import { checkDeleteOptions, deleteOptionsFromQuery } from "./query-options.ts";
import type { ApiRequest, RequestBody } from "./request.ts";

export function decodeDeleteOptions({ body, headers, query }: ApiRequest): Result<DeleteOptions> {
  if (body.form === "object") return checkDeleteOptions(body.object as DeleteOptions);
  const sent = bodyBytes(body);
  if (!sent.ok) return sent;
  if (sent.value.length === 0) {
    const options = deleteOptionsFromQuery(query);
    return options.ok ? checkDeleteOptions(options.value) : options;
  }
  const encoding = bodyEncoding(headers);
  if (encoding === undefined) {
    return failure(unsupportedMediaTypeStatus(Object.values(MEDIA_TYPES)));
  }
  const decoded = decode(encoding, body, sent.value);
  if (!decoded.ok) return failure(badRequestStatus(decoded.error));
  const options = decoded.value as DeleteOptions;
  const { kind = "DeleteOptions", apiVersion = "v1" } = options;
  if (kind !== "DeleteOptions") {
    const scheme = "pkg/apis/meta/internalversion/scheme/register.go:27";
    const why = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
    return failure(badRequestStatus(`${why} in scheme ${goQuote(scheme)}`));
  }
  return checkDeleteOptions(options);
}

const NO_OBJECT = /^json: cannot unmarshal (\w+) into Go value of type v1\.DeleteOptions$/;

function decode(encoding: Encoding, body: RequestBody, bytes: Uint8Array): Decoded {
  const schema = schemaOf("meta.v1.DeleteOptions");
  if (encoding === "json") {
    const decoded = decodeJson(schema, bytes);
    if (decoded.ok) return decoded;
    const [, type] = NO_OBJECT.exec(decoded.error) ?? [];
    if (type === undefined && decoded.error.startsWith("json:")) return decoded;
    const why =
      type === undefined
        ? decoded.error
        : `json: cannot unmarshal ${type} into Go value of type ${TYPE_META}`;
    return { ok: false, error: `couldn't get version/kind; json parse error: ${why}` };
  }
  if (encoding === "yaml") {
    const yaml = bodyYaml(body, bytes);
    return yaml.ok ? decodeJson(schema, yaml.json) : yaml;
  }
  const envelope = readEnvelope(bytes);
  return envelope.ok ? decodeProtobuf(schema, envelope.message) : envelope;
}
