/** Subresources that lead out of the server: logs, exec, attach, port-forward and the proxies. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  serviceUnavailableStatus,
  success,
} from "#api/meta/status.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import type { Schema } from "#api/schema/schema.ts";
import { messageOf } from "#lib/caught.ts";
import type { IsCredentialHeader } from "../authn/credential-headers.ts";
import { isWebSocket } from "../proxy/client-connection.ts";
import { forward, forwardedHeaders, rewriteAnswer } from "../proxy/forward.ts";
import { type LocateOptions, locateNode, locatePod, locateService } from "../proxy/locate.ts";
import { execCall, type KubeletCall, portForwardCall } from "../proxy/pod-streams.ts";
import { splitProxyPath } from "../proxy/proxy-path.ts";
import type { Target } from "../proxy/target.ts";
import { wantsTranslation } from "../proxy/translate-streams.ts";
import type { Tunnel, TunnelKind } from "../proxy/tunnel.ts";
import { wrapsSpdy } from "../proxy/tunnel-spdy.ts";
import type { RunVerb, SpecialVerbs } from "../request/dispatch.ts";
import type { ApiRequest } from "../request/request.ts";
import { isTrue } from "../request/request-info.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import type { Objects } from "../storage/objects.ts";
import { admitOnly } from "../write/admit-write.ts";
import { readLog } from "./pod-log.ts";

type Locate = (verb: VerbRequest, path: string) => Result<Target> | Promise<Result<Target>>;

/** A kubelet that declares WebSocket support gets WebSocket without a translation to SPDY. */
const SPEAKS_WEB_SOCKET = "ExtendWebSocketsToKubelet";

export function connectVerbs(options: LocateOptions): SpecialVerbs {
  const streamed = (
    call: (objects: Objects, verb: VerbRequest) => Result<KubeletCall>,
    kindOf: (request: ApiRequest) => TunnelKind,
  ): Readonly<Record<string, RunVerb>> => {
    const run: RunVerb = (verb) => stream(options, verb, call, kindOf(verb.request));
    return { get: run, create: run };
  };
  return {
    "/pods/log": { get: (verb) => readLog(options, verb) },
    "/pods/exec": streamed(
      (all, { info, request }) => execCall(all, info.namespace, info.name, request.query, "exec"),
      execKind,
    ),
    "/pods/attach": streamed(
      (all, { info, request }) => execCall(all, info.namespace, info.name, request.query, "attach"),
      execKind,
    ),
    "/pods/portforward": streamed(
      (all, { info, request }) => portForwardCall(all, info.namespace, info.name, request.query),
      ({ headers }) =>
        isWebSocket(headers) && wrapsSpdy(headers) ? { form: "unwrapped" } : JOINED,
    ),
    "/pods/proxy": proxied(options, ({ info }, path) =>
      locatePod(options, info.namespace, info.name, path),
    ),
    "/services/proxy": proxied(options, ({ info }, path) =>
      locateService(options, info.namespace, info.name, path),
    ),
    "/nodes/proxy": proxied(options, ({ info }, path) => locateNode(options, info.name, path)),
  };
}

const JOINED: TunnelKind = { form: "joined" };

function execKind({ headers, query }: ApiRequest): TunnelKind {
  if (!isWebSocket(headers) || !wantsTranslation(headers)) return JOINED;
  const [stdin, stdout, stderr, tty] = ["stdin", "stdout", "stderr", "tty"].map((name) =>
    isTrue(query.get(name)),
  );
  const streams = { stdin: stdin!, stdout: stdout!, stderr: stderr!, tty: tty! };
  return { form: "translated", streams };
}

async function stream(
  { objects, kubelets, isCredential }: LocateOptions,
  verb: VerbRequest,
  call: (objects: Objects, verb: VerbRequest) => Result<KubeletCall>,
  how: TunnelKind,
): Promise<VerbResult> {
  const { request } = verb;
  const refusal = (await admitConnect(verb)) ?? (await refuseReaders(verb));
  if (refusal !== undefined) return failure(refusal);
  const asked = call(objects, verb);
  if (!asked.ok) return asked;
  const { nodeName, path } = asked.value;
  const target = kubelets.target(nodeName, path);
  if (!target.ok) return target;
  if (!wantsUpgrade(request)) return failure(badRequestStatus("Upgrade request required"));
  const plain = kubelets.declares(nodeName, SPEAKS_WEB_SOCKET) ? JOINED : how;
  return tunnelled(tunnelOf(request, target.value, plain, isCredential));
}

/** A WebSocket always begins with GET, but running a command is no reading. */
async function refuseReaders(verb: VerbRequest): Promise<Status | undefined> {
  return verb.info.verb === "create" ? undefined : await verb.mayCreate();
}

function proxied(
  { isCredential }: LocateOptions,
  locate: Locate,
): Readonly<Record<string, RunVerb>> {
  const run: RunVerb = async (verb) => {
    const { request } = verb;
    const refusal = await admitConnect(verb);
    if (refusal !== undefined) return failure(refusal);
    const { prefix, path, query } = splitProxyPath(request);
    const target = await locate(verb, (path === "" ? "/" : path) + query);
    if (!target.ok) return target;
    if (wantsUpgrade(request)) {
      return tunnelled(tunnelOf(request, target.value, JOINED, isCredential));
    }
    if (path === "" && (request.method === "GET" || request.method === "HEAD")) {
      return redirect(`${prefix}/${query}`);
    }
    const headers = forwardedHeaders(request, isCredential);
    return await proxy(request, target.value, headers, prefix, path);
  };
  return { get: run, create: run, update: run, patch: run, delete: run, "": run };
}

async function proxy(
  request: ApiRequest,
  target: Target,
  headers: Readonly<Record<string, string>>,
  prefix: string,
  path: string,
): Promise<VerbResult> {
  try {
    const sent = { ...headers, "x-forwarded-uri": prefix + path };
    const answered = await forward(request, target, sent);
    const place = {
      prefix,
      targetHost: `${target.host}:${target.port}`,
      ownHost: request.headers.host ?? request.headers[":authority"] ?? "",
    };
    const rewritten = await rewriteAnswer(answered, place);
    return streamed(rewritten.code, rewritten.headers, rewritten.chunks);
  } catch (error) {
    const why = `error trying to reach service: ${messageOf(error)}`;
    return failure(serviceUnavailableStatus(why));
  }
}

function redirect(location: string): VerbResult {
  return streamed(301, { location }, (async function* () {})());
}

function streamed(
  code: number,
  headers: Readonly<Record<string, string | readonly string[]>>,
  chunks: AsyncIterable<Uint8Array>,
): VerbResult {
  return success({ code, body: { form: "stream", stream: { contentType: "", headers, chunks } } });
}

function tunnelled(tunnel: Tunnel): VerbResult {
  return success({ code: 101, body: { form: "tunnel", tunnel } });
}

function wantsUpgrade({ headers }: ApiRequest): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "");
}

function tunnelOf(
  request: ApiRequest,
  target: Target,
  how: TunnelKind,
  isCredential: IsCredentialHeader,
): Tunnel {
  const headers = forwardedHeaders(request, isCredential);
  const protocol = request.headers.upgrade ?? "";
  return { how, request: { method: request.method, headers, protocol, target } };
}

async function admitConnect(verb: VerbRequest): Promise<Status | undefined> {
  const { info, request } = verb;
  if (request.query.has("dryRun")) return badRequestStatus("dryRun is not supported");
  const kind = optionsKind(info);
  const object = connectOptions(kind, request.query);
  const admitted = await admitOnly(verb, {
    operation: "CONNECT",
    object: object as Record<string, unknown> & KubeObject,
    options: {},
    dryRun: false,
    type: { group: "", version: "v1", kind },
  });
  return admitted.ok ? undefined : admitted.status;
}

/** The kind that says how something is connected to. */
function optionsKind({ resource, subresource }: VerbRequest["info"]): string {
  if (subresource === "proxy" && resource === "nodes") return "NodeProxyOptions";
  if (subresource === "proxy" && resource === "services") return "ServiceProxyOptions";
  return OPTIONS[subresource] ?? "";
}

/** The query as an object of that kind, as admission sees it. */
function connectOptions(kind: string, query: URLSearchParams): Record<string, unknown> {
  const object: Record<string, unknown> = { kind, apiVersion: "v1", metadata: {} };
  for (const { name, schema } of findSchemaOfKind("", "v1", kind)?.fields ?? []) {
    const text = query.get(name);
    if (text === null || Object.hasOwn(object, name)) continue;
    if (schema.shape === "list") object[name] = listed(query.getAll(name), schema.item);
    else if (schema.shape === "scalar" && schema.scalar === "bool") object[name] = isTrue(text);
    else object[name] = text;
  }
  return object;
}

/** Ports are numbers, words of a command are texts. */
function listed(texts: readonly string[], item: Schema): readonly unknown[] {
  return item.shape === "scalar" && item.scalar === "string" ? texts : texts.map(Number);
}

const OPTIONS: Readonly<Record<string, string>> = {
  exec: "PodExecOptions",
  attach: "PodAttachOptions",
  portforward: "PodPortForwardOptions",
  proxy: "PodProxyOptions",
};
