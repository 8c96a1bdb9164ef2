/** What the kubelet is asked for when a pod's log is wanted. */
import { badRequestStatus, failure, invalidStatus, type Result } from "#api/meta/status.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { isTrue } from "../request/request-info.ts";
import type { Objects } from "../storage/objects.ts";
import { type KubeletCall, podCall } from "./pod-streams.ts";

const FLAGS = ["follow", "previous", "timestamps"];
const NUMBERS = ["limitBytes", "sinceSeconds", "tailLines"];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function logCall(
  objects: Objects,
  namespace: string,
  name: string,
  query: URLSearchParams,
): Result<KubeletCall> {
  const unreadable = syntaxFault(query);
  if (unreadable !== undefined) return failure(badRequestStatus(unreadable));
  const faults = optionFaults(query);
  if (faults.length > 0) {
    return failure(invalidStatus({ group: "", kind: "PodLogOptions" }, name, faults));
  }
  const parameters = new URLSearchParams();
  for (const flag of FLAGS) if (isTrue(query.get(flag))) parameters.set(flag, "true");
  for (const number of NUMBERS) {
    const value = numberOf(query, number);
    if (value !== undefined) parameters.set(number, String(value));
  }
  const since = query.get("sinceTime") ?? "";
  if (since !== "") parameters.set("sinceTime", since.replace(/\.\d+/, ""));
  parameters.sort();
  return podCall(objects, namespace, name, query, "containerLogs", parameters);
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? "";
  return text === "" ? undefined : Number(text);
}

/** Syntax errors of parameters are reported before any value is validated. */
function syntaxFault(query: URLSearchParams): string | undefined {
  for (const name of NUMBERS) {
    const text = query.get(name) ?? "";
    if (text !== "" && !/^[+-]?\d+$/.test(text)) {
      return `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
    }
  }
  const since = query.get("sinceTime") ?? "";
  if (since === "" || TIME.test(since)) return undefined;
  const layout = "2006-01-02T15:04:05Z07:00";
  return `parsing time ${JSON.stringify(since)} as "${layout}": cannot parse ${JSON.stringify(since)} as "2006"`;
}

function optionFaults(query: URLSearchParams): FieldError[] {
  const faults: FieldError[] = [];
  const [limit, since, tail] = NUMBERS.map((name) => numberOf(query, name));
  if (tail !== undefined && tail < 0) {
    faults.push(invalid(Path.of("tailLines"), tail, "must be greater than or equal to 0"));
  }
  if (limit !== undefined && limit < 1) {
    faults.push(invalid(Path.of("limitBytes"), limit, "must be greater than 0"));
  }
  if (since !== undefined && (query.get("sinceTime") ?? "") !== "") {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    faults.push(forbidden(Path.of("[]"), detail));
  } else if (since !== undefined && since < 1) {
    faults.push(invalid(Path.of("sinceSeconds"), since, "must be greater than 0"));
  }
  if ((query.get("stream") ?? "") !== "") {
    faults.push(forbidden(Path.of("stream"), "may not be specified"));
  }
  return faults;
}
