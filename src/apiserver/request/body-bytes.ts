/** The bytes of a request body that is decoded, YAML converted to JSON. */
import { type YamlAsJson, yamlToJson } from "#api/codec/yaml.ts";
import { failure, type Result, requestTooLargeStatus, success } from "#api/meta/status.ts";
import { BODY_BYTES_MAX } from "../http/exchange.ts";
import type { RequestBody } from "./request.ts";

/** A caller in the same process hands a body over as a value. */
export function bodyBytes(body: RequestBody): Result<Uint8Array> {
  switch (body.form) {
    case "bytes":
      return success(body.bytes);
    case "object":
      return success(Buffer.from(JSON.stringify(body.object)));
    case "too-long":
      return failure(requestTooLargeStatus(body.limit ?? `limit is ${BODY_BYTES_MAX}`));
    case "none":
    case "stream":
      return success(NO_BYTES);
  }
}

/** What YAML says, as JSON; large bodies were converted when they came. */
export function bodyYaml(body: RequestBody, bytes: Uint8Array): YamlAsJson {
  const converted = body.form === "bytes" ? body.yaml : undefined;
  return converted ?? yamlToJson(Buffer.from(bytes).toString());
}

const NO_BYTES = new Uint8Array(0);
