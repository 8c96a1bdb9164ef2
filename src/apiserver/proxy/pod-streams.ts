/** What the kubelet is asked for when a pod's exec, attach or port-forward is wanted. */

import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  badRequestStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { isTrue } from "../request/request-info.ts";
import type { Objects } from "../storage/objects.ts";

export interface KubeletCall {
  /** "": the pod runs nowhere yet. */
  readonly nodeName: string;
  readonly path: string;
}

const STREAM_FLAGS: Readonly<Record<string, string>> = {
  stderr: "error",
  stdin: "input",
  stdout: "output",
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
  if (what === "exec")
    for (const part of query.getAll("command")) parameters.append("command", part);
  for (const [asked, parameter] of Object.entries(STREAM_FLAGS)) {
    if (isTrue(query.get(asked))) parameters.set(parameter, "1");
  }
  const call = podCall(objects, namespace, name, query, what, parameters);
  return call.ok && call.value.nodeName === "" ? noHost(name) : call;
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
  if (nodeName === "") return noHost(name);
  const ports = query.getAll("ports").flatMap((text) => text.split(","));
  const wrong = ports.find((port) => !/^\d+$/.test(port));
  if (wrong !== undefined) {
    const message = `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(wrong)}: invalid syntax`;
    return failure(badRequestStatus(message));
  }
  const tail = ports.length === 0 ? "" : `?${new URLSearchParams({ port: ports.join(",") })}`;
  return success({ nodeName, path: `/portForward/${namespace}/${name}${tail}` });
}

/** The container is the one asked for, or the only one. */
export function podCall(
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
  const tail = parameters.size === 0 ? "" : `?${parameters}`;
  const path = `/${what}/${namespace}/${name}/${container.value}${tail}`;
  return success({ nodeName: pod.spec?.nodeName ?? "", path });
}

function chooseContainer({ metadata, spec }: Pod, asked: string): Result<string> {
  const { name = "" } = metadata;
  const main = spec?.containers ?? [];
  const all = [...(spec?.initContainers ?? []), ...main, ...(spec?.ephemeralContainers ?? [])];
  if (asked !== "") {
    if (all.some((one) => one.name === asked)) return success(asked);
    return failure(badRequestStatus(`container ${asked} is not valid for pod ${name}`));
  }
  if (main.length === 1) return success(main[0]!.name);
  const must = `a container name must be specified for pod ${name}`;
  const names = all.map((one) => one.name).join(" ");
  const choice = main.length === 0 ? "" : `, choose one of: [${names}]`;
  return failure(badRequestStatus(must + choice));
}

function noHost(name: string): Result<never> {
  return failure(badRequestStatus(`pod ${name} does not have a host assigned`));
}

function missing(name: string): Result<never> {
  return failure(notFoundStatus({ group: "", resource: "pods" }, name));
}
