/** What `…/proxy` of a node, a pod or a Service leads to. */
import { lookup } from "node:dns/promises";
import type { Endpoints, Pod } from "#api/generated/core.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import {
  badRequestStatus,
  failure,
  notFoundStatus,
  type Result,
  serviceUnavailableStatus,
  success,
} from "#api/meta/status.ts";
import type { Random } from "#lib/random.ts";
import type { IsCredentialHeader } from "../authn/credential-headers.ts";
import type { Objects } from "../storage/objects.ts";
import type { ConnectStream } from "./connect-stream.ts";
import type { Kubelets } from "./kubelets.ts";
import { isProxyable, type SchemeNamePort, splitSchemeNamePort, type Target } from "./target.ts";

export interface LocateOptions {
  readonly objects: Objects;
  readonly kubelets: Kubelets;
  readonly random: Random;
  /** Headers that are not forwarded. */
  readonly isCredential: IsCredentialHeader;
}

/** `id` is the name in the path, with scheme and port; `path` what comes after `proxy`. */
export async function locateNode(
  { kubelets }: LocateOptions,
  id: string,
  path: string,
): Promise<Result<Target>> {
  const split = splitSchemeNamePort(id);
  if (split === undefined) return invalidRequest("node", id);
  const address = kubelets.addressOf(split.name, "nodes");
  if (!address.ok) return address;
  const { host, port } = address.value;
  const found = await lookup(host, { all: true }).catch(() => []);
  if (found.length === 0) return failure(badRequestStatus("no addresses for hostname"));
  if (!found.every((one) => isProxyable(one.address))) return notAllowed();
  if (split.port === "" || split.port === String(port)) return kubelets.target(split.name, path);
  return plainTarget(split, host, split.port, path, kubelets.connect);
}

export function locatePod(
  { objects, kubelets }: LocateOptions,
  namespace: string,
  id: string,
  path: string,
): Result<Target> {
  const split = splitSchemeNamePort(id);
  if (split === undefined) return invalidRequest("pod", id);
  const pod = objects.get(podKind, namespace, split.name);
  if (pod === undefined)
    return failure(notFoundStatus({ group: "", resource: "pods" }, split.name));
  const address = pod.status?.podIPs?.[0]?.ip ?? "";
  if (!isProxyable(address)) return notAllowed();
  return plainTarget(split, address, split.port || firstPort(pod), path, kubelets.connect);
}

export function locateService(
  { objects, random, kubelets }: LocateOptions,
  namespace: string,
  id: string,
  path: string,
): Result<Target> {
  const split = splitSchemeNamePort(id);
  if (split === undefined) return invalidRequest("service", id);
  const portName = portNameOf(objects, namespace, split);
  if (!portName.ok) return portName;
  const endpoints = objects.get(endpointsKind, namespace, split.name);
  if (endpoints === undefined) {
    return failure(notFoundStatus({ group: "", resource: "services" }, split.name));
  }
  const chosen = choose(objects, namespace, endpoints, portName.value, random);
  if (chosen === undefined) {
    const name = (endpoints.subsets ?? []).length === 0 ? split.name : id;
    return failure(serviceUnavailableStatus(`no endpoints available for service "${name}"`));
  }
  return plainTarget(split, chosen.ip, String(chosen.port), path, kubelets.connect);
}

/** A port may be asked for by its number. */
function portNameOf(
  objects: Objects,
  namespace: string,
  { name, port }: SchemeNamePort,
): Result<string> {
  if (!/^\d+$/.test(port)) return success(port);
  const service = objects.get(serviceKind, namespace, name);
  if (service === undefined) {
    return failure(notFoundStatus({ group: "", resource: "services" }, name));
  }
  const found = (service.spec.ports ?? []).find((one) => one.port === Number(port));
  if (found !== undefined) return success(found.name ?? "");
  const message = `no service port ${port} found for service "${name}"`;
  return failure(serviceUnavailableStatus(message));
}

/** A random address whose pod is what the endpoints say it is. */
function choose(
  objects: Objects,
  namespace: string,
  { subsets = [] }: Endpoints,
  portName: string,
  random: Random,
): { ip: string; port: number } | undefined {
  const choices = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const port = ports.find((one) => (one.name ?? "") === portName);
    return port === undefined ? [] : addresses.map((address) => ({ address, port: port.port }));
  });
  const valid = choices.filter(({ address }) => {
    const { targetRef, ip } = address;
    if (targetRef === undefined || targetRef.namespace !== namespace) return false;
    const pod = objects.get(podKind, namespace, targetRef.name ?? "");
    return pod?.status?.podIPs?.some((one) => one.ip === ip) ?? false;
  });
  if (valid.length === 0) return undefined;
  const { address, port } = valid[random.integer(valid.length)]!;
  return { ip: address.ip, port };
}

function firstPort({ spec }: Pod): string {
  const ports = (spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const port = ports[0]?.containerPort;
  return port === undefined ? "" : String(port);
}

function plainTarget(
  { scheme }: SchemeNamePort,
  host: string,
  port: string,
  path: string,
  connect: ConnectStream | undefined,
): Result<Target> {
  const secure = scheme === "https";
  const number = port === "" ? (secure ? 443 : 80) : Number(port);
  if (!(number > 0 && number < 65_536)) return failure(badRequestStatus(`invalid port "${port}"`));
  const shown = `${secure ? "https" : "http"}://${host}:${number}${path}`;
  return success({
    secure,
    host,
    port: number,
    path,
    shown,
    connect,
    ...(secure ? { tls: { verify: false } } : {}),
  });
}

function invalidRequest(what: string, id: string): Result<never> {
  return failure(badRequestStatus(`invalid ${what} request "${id}"`));
}

function notAllowed(): Result<never> {
  return failure(badRequestStatus("address not allowed"));
}
