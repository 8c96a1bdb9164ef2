/** Subresources that lead out of the server: logs, exec, attach, port-forward and the proxies. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { failure, type Result, success, unknownStatus } from "#api/meta/status.ts";
import type { RunVerb, SpecialVerbs } from "../dispatch.ts";
import type { Objects } from "../objects.ts";
import { forward, forwardedHeaders, upgradeRequired } from "../proxy/forward.ts";
import { type LocateOptions, locateNode, locatePod, locateService } from "../proxy/locate.ts";
import { execCall, type KubeletCall, logCall, portForwardCall } from "../proxy/pod-streams.ts";
import type { Target } from "../proxy/target.ts";
import type { ApiRequest } from "../request.ts";
import { isTrue } from "../request-info.ts";
import type { VerbRequest, VerbResult } from "../verb.ts";

type Locate = (verb: VerbRequest, path: string) => Result<Target> | Promise<Result<Target>>;

export function connectVerbs(options: LocateOptions): SpecialVerbs {
  const { objects, kubelets } = options;
  const streamed = (
    call: (objects: Objects, verb: VerbRequest) => Result<KubeletCall>,
  ): Readonly<Record<string, RunVerb>> => {
    const run: RunVerb = (verb) =>
      tunnelTo(verb, () => {
        const asked = call(objects, verb);
        return asked.ok ? kubelets.target(asked.value.nodeName, asked.value.path) : asked;
      });
    return { get: run, create: run };
  };
  return {
    "/pods/log": { get: (verb) => readLog(options, verb) },
    "/pods/exec": streamed((all, { info, request }) =>
      execCall(all, info.namespace, info.name, request.query, "exec"),
    ),
    "/pods/attach": streamed((all, { info, request }) =>
      execCall(all, info.namespace, info.name, request.query, "attach"),
    ),
    "/pods/portforward": streamed((all, { info, request }) =>
      portForwardCall(all, info.namespace, info.name, request.query),
    ),
    "/pods/proxy": proxied(({ info }, path) => locatePod(options, info.namespace, info.name, path)),
    "/services/proxy": proxied(({ info }, path) =>
      locateService(options, info.namespace, info.name, path),
    ),
    "/nodes/proxy": proxied(({ info }, path) => locateNode(options, info.name, path)),
  };
}

async function readLog(
  { objects, kubelets }: LocateOptions,
  verb: VerbRequest,
): Promise<VerbResult> {
  const { info, request } = verb;
  const call = logCall(objects, info.namespace, info.name, request.query);
  if (!call.ok) return call;
  const { nodeName, path } = call.value;
  if (nodeName === "") {
    const bytes = new Uint8Array(0);
    return success({ code: 204, body: { form: "bytes", contentType: "", bytes } });
  }
  const skip = isTrue(request.query.get("insecureSkipTLSVerifyBackend"));
  const target = kubelets.target(nodeName, path, skip);
  if (!target.ok) return target;
  const answered = await forward({ ...bare(request), method: "GET" }, target.value);
  if (!answered.ok) return answered;
  const { code, chunks } = answered.value;
  if (code >= 300) return failure(await kubeletFault(code, chunks));
  return success({
    code: 200,
    body: { form: "stream", stream: { contentType: "text/plain", headers: {}, chunks } },
  });
}

/** A request without what only the client's own request had. */
function bare(request: ApiRequest): ApiRequest {
  const { signal, peer, query, path } = request;
  return { method: "GET", path, query, headers: {}, body: { form: "none" }, peer, signal };
}

const FAULT_BYTES_MAX = 10_000;

async function kubeletFault(code: number, chunks: AsyncIterable<Uint8Array>): Promise<Status> {
  let text = "";
  for await (const chunk of chunks) {
    text += Buffer.from(chunk).toString();
    if (text.length > FAULT_BYTES_MAX) break;
  }
  return unknownStatus(text.trim() || `the kubelet answered ${code}`, code);
}

async function tunnelTo(verb: VerbRequest, locate: () => Result<Target>): Promise<VerbResult> {
  const { request } = verb;
  const refusal = await admitConnect(verb);
  if (refusal !== undefined) return failure(refusal);
  const target = locate();
  if (!target.ok) return target;
  if (!wantsUpgrade(request)) return upgradeRequired();
  return success({
    code: 101,
    body: { form: "tunnel", tunnel: tunnelRequest(request, target.value) },
  });
}

function proxied(locate: Locate): Readonly<Record<string, RunVerb>> {
  const run: RunVerb = async (verb) => {
    const { request } = verb;
    const refusal = await admitConnect(verb);
    if (refusal !== undefined) return failure(refusal);
    const split = splitProxyUrl(request);
    if (split.tail === undefined) return redirectToSlash(split);
    const target = await locate(verb, split.tail);
    if (!target.ok) return target;
    if (wantsUpgrade(request)) {
      const tunnel = tunnelRequest(request, target.value);
      return success({ code: 101, body: { form: "tunnel", tunnel } });
    }
    const answered = await forward(request, target.value);
    if (!answered.ok) return answered;
    const { code, headers, chunks } = answered.value;
    return success({
      code,
      body: { form: "stream", stream: { contentType: "", headers, chunks } },
    });
  };
  return { get: run, create: run, update: run, patch: run, delete: run };
}

interface ProxyUrl {
  /** Up to `proxy`. */
  readonly own: string;
  /** What comes after it, with the query; undefined if nothing does, not even a slash. */
  readonly tail: string | undefined;
  readonly query: string;
}

function splitProxyUrl({ rawUrl, path, query }: ApiRequest): ProxyUrl {
  const url = rawUrl ?? (query.size === 0 ? path : `${path}?${query}`);
  const mark = url.indexOf("?");
  const rawPath = mark < 0 ? url : url.slice(0, mark);
  const rawQuery = mark < 0 ? "" : url.slice(mark);
  const match = /^(\/api\/v1\/(?:namespaces\/[^/]+\/)?[^/]+\/[^/]+\/proxy)(\/.*)?$/.exec(rawPath);
  const tail = match?.[2];
  return {
    own: match?.[1] ?? rawPath,
    tail: tail === undefined ? undefined : tail + rawQuery,
    query: rawQuery,
  };
}

function redirectToSlash({ own, query }: ProxyUrl): VerbResult {
  const headers = { location: `${own}/${query}` };
  const chunks = (async function* () {})();
  return success({
    code: 301,
    body: { form: "stream", stream: { contentType: "", headers, chunks } },
  });
}

function wantsUpgrade({ headers }: ApiRequest): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "");
}

function tunnelRequest(request: ApiRequest, target: Target) {
  const headers = Object.entries(forwardedHeaders(request)) as [string, string][];
  const upgrade = request.headers.upgrade ?? "";
  headers.push(["Connection", "Upgrade"], ["Upgrade", upgrade]);
  return { method: request.method, headers, target };
}

async function admitConnect(verb: VerbRequest): Promise<Status | undefined> {
  const { resource, info, user, warn, request, parts } = verb;
  // A WebSocket always begins with GET, but running a command is no reading.
  const writes = info.verb === "get" && info.subresource !== "log" && wantsUpgrade(request);
  if (writes && info.subresource !== "proxy") {
    const refusal = await verb.mayCreate();
    if (refusal !== undefined) return refusal;
  }
  const object = { kind: OPTIONS[info.subresource] ?? "", apiVersion: "v1", metadata: {} };
  const attributes = {
    operation: "CONNECT",
    kind: resource.stored.kind,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    object: object as Draft<KubeObject>,
    old: undefined,
    options: Object.fromEntries(request.query),
    dryRun: false,
    user,
    warn,
  } as const;
  return (await parts.admission.admit(attributes)) ?? (await parts.admission.validate(attributes));
}

const OPTIONS: Readonly<Record<string, string>> = {
  exec: "PodExecOptions",
  attach: "PodAttachOptions",
  portforward: "PodPortForwardOptions",
  proxy: "PodProxyOptions",
};
