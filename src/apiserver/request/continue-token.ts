/** Where the next page of a listing begins: upstream's token, revision and key in one text. */
import { parseJson } from "#api/codec/json.ts";
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";

export interface ContinuePoint {
  /** The last key of the page before. */
  readonly startAfter: string;
  /** The revision of the listing; undefined: whatever is there now. */
  readonly revision: number | undefined;
}

const VERSION = "meta.k8s.io/v1";
/** The revision in the "inconsistent continue" token of a 410 Expired response: list at the newest one. */
const LATEST = -1;
const AFTER = "\u0000";

export function encodeContinue(prefix: string, { startAfter, revision }: ContinuePoint): string {
  const start = startAfter.slice(prefix.length) + AFTER;
  const token = { v: VERSION, rv: revision ?? LATEST, start };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

export function decodeContinue(prefix: string, token: string): Result<ContinuePoint> {
  const refuse = (why: string): Result<never> =>
    failure(badRequestStatus(`invalid continue token: ${why}`));
  if (!/^[A-Za-z0-9_-]*$/.test(token)) {
    const at = token.search(/[^A-Za-z0-9_-]/);
    return refuse(`continue key is not valid: illegal base64 data at input byte ${at}`);
  }
  const parsed = parseJson(Buffer.from(token, "base64url"));
  if (!parsed.ok) return refuse(`continue key is not valid: ${parsed.error}`);
  const { v, rv, start } = (parsed.value ?? {}) as { v?: string; rv?: unknown; start?: string };
  if (v !== VERSION) {
    return refuse(
      `continue key is not valid: server does not recognize this encoded version ${v ?? ""}`,
    );
  }
  if (rv !== undefined && rv !== null && !isInt64(rv)) {
    const type = typeof rv === "number" ? `number ${rv}` : jsonTypeOf(rv);
    return refuse(
      `continue key is not valid: json: cannot unmarshal ${type} into Go struct field continueToken.rv of type int64`,
    );
  }
  if (typeof rv !== "number" || rv === 0) {
    return refuse(
      "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    );
  }
  if (typeof start !== "string" || start === "") {
    return refuse("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
  }
  if (start.split("/").some((part) => part === ".." || part === "." || part === "")) {
    return refuse(`continue key is not valid: ${start}`);
  }
  const startAfter = prefix + (start.endsWith(AFTER) ? start.slice(0, -1) : start);
  return success({ startAfter, revision: rv < 0 ? undefined : rv });
}

function isInt64(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63;
}

/** The name that Go's decoder gives to a JSON value. */
function jsonTypeOf(value: unknown): string {
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "array" : typeof value;
}
