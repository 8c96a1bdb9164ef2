/** What the kubelet is asked for when a pod's logs, exec, attach or port-forward is wanted. */

import { podKind } from "#api/core/v1/pod.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import {
  badRequestStatus,
  failure,
  invalidStatus,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Objects } from "../objects.ts";
import { isTrue } from "../request-info.ts";

export interface KubeletCall {
  /** "": the pod runs nowhere yet. */
  readonly nodeName: string;
  readonly path: string;
}

export function logCall(
  objects: Objects,
  namespace: string,
  name: string,
  query: URLSearchParams,
): Result<KubeletCall> {
  const faults = validateLogOptions(query);
  if (faults.length > 0) {
    return failure(invalidStatus({ group: "", kind: "PodLogOptions" }, name, faults));
  }
  const parameters = new URLSearchParams();
  for (const flag of ["follow", "previous", "timestamps"]) {
    if (isTrue(query.get(flag))) parameters.set(flag, "true");
  }
  for (const value of ["sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream"]) {
    const given = query.get(value) ?? "";
    if (given !== "") parameters.set(value, given);
  }
  return podCall(objects, namespace, name, query, "containerLogs", parameters);
}

const STREAM_FLAGS: Readonly<Record<string, string>> = {
  stdin: "input",
  stdout: "output",
  stderr: "error",
  tty: "tty",
};

export function execCall(
  objects: Objects,
  namespace: string,
  name: string,
  query: URLSearchParams,
  what: "exec" | "attach",
): Result<KubeletCall> {
  const parameters = new URLSearchParams();
  for (const [asked, told] of Object.entries(STREAM_FLAGS)) {
    if (isTrue(query.get(asked))) parameters.set(told, "1");
  }
  const streams = ["input", "output", "error"].some((stream) => parameters.has(stream));
  if (!streams) {
    return failure(badRequestStatus("you must specify at least 1 of stdin, stdout, stderr"));
  }
  if (what === "exec")
    for (const part of query.getAll("command")) parameters.append("command", part);
  return podCall(objects, namespace, name, query, what, parameters);
}

export function portForwardCall(
  objects: Objects,
  namespace: string,
  name: string,
  query: URLSearchParams,
): Result<KubeletCall> {
  const pod = objects.get(podKind, namespace, name);
  if (pod === undefined) return missing(name);
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "")
    return failure(badRequestStatus(`pod ${name} does not have a host assigned`));
  const ports = query.getAll("ports").flatMap((text) => text.split(","));
  const tail = ports.length === 0 ? "" : `?${ports.map((port) => `port=${port}`).join("&")}`;
  return success({ nodeName, path: `/portForward/${namespace}/${name}${tail}` });
}

function podCall(
  objects: Objects,
  namespace: string,
  name: string,
  query: URLSearchParams,
  what: string,
  parameters: URLSearchParams,
): Result<KubeletCall> {
  const pod = objects.get(podKind, namespace, name);
  if (pod === undefined) return missing(name);
  const container = chooseContainer(pod, query.get("container") ?? "");
  if (!container.ok) return container;
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "" && what !== "containerLogs") {
    return failure(badRequestStatus(`pod ${name} does not have a host assigned`));
  }
  const tail = parameters.size === 0 ? "" : `?${parameters}`;
  return success({ nodeName, path: `/${what}/${namespace}/${name}/${container.value}${tail}` });
}

function chooseContainer({ metadata, spec }: Pod, asked: string): Result<string> {
  const { name = "" } = metadata;
  const main = spec?.containers ?? [];
  const init = spec?.initContainers ?? [];
  const ephemeral = spec?.ephemeralContainers ?? [];
  if (asked !== "") {
    const known = [...main, ...init, ...ephemeral].some((one) => one.name === asked);
    if (known) return success(asked);
    return failure(badRequestStatus(`container ${asked} is not valid for pod ${name}`));
  }
  if (main.length === 1 && init.length === 0 && ephemeral.length === 0) {
    return success(main[0]!.name);
  }
  const names = (list: readonly { name: string }[]) => list.map((one) => one.name).join(" ");
  const more = init.length > 0 ? ` or one of the init containers: [${names(init)}]` : "";
  const message = `a container name must be specified for pod ${name}, choose one of: [${names(main)}]${more}`;
  return failure(badRequestStatus(message));
}

function validateLogOptions(query: URLSearchParams): FieldError[] {
  const number = (name: string): number | undefined => {
    const text = query.get(name) ?? "";
    return text === "" ? undefined : Number(text);
  };
  const faults: FieldError[] = [];
  const [tail, limit, since] = ["tailLines", "limitBytes", "sinceSeconds"].map(number);
  if (tail !== undefined && !(tail >= 0)) {
    faults.push(invalid(Path.of("tailLines"), tail, "must be greater than or equal to 0"));
  }
  if (limit !== undefined && !(limit >= 1)) {
    faults.push(invalid(Path.of("limitBytes"), limit, "must be greater than 0"));
  }
  if (since !== undefined && (query.get("sinceTime") ?? "") !== "") {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    faults.push(forbidden(Path.of(""), detail));
  } else if (since !== undefined && !(since >= 1)) {
    faults.push(invalid(Path.of("sinceSeconds"), since, "must be greater than 0"));
  }
  return faults;
}

function missing(name: string): Result<never> {
  return failure(notFoundStatus({ group: "", resource: "pods" }, name));
}
