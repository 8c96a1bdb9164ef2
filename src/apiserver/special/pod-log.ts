/** pods/NAME/log: streamed from the kubelet of the pod's node. */
import type { Status } from "#api/generated/meta.v1.ts";
import {
  badRequestStatus,
  failure,
  internalErrorStatus,
  serverResponseStatus,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import { type Forwarded, forward } from "../proxy/forward.ts";
import type { LocateOptions } from "../proxy/locate.ts";
import { logCall } from "../proxy/pod-log-call.ts";
import type { ApiRequest } from "../request/request.ts";
import { isTrue } from "../request/request-info.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";

const FAULT_BYTES_MAX = 50_000;

export async function readLog(
  { objects, kubelets }: LocateOptions,
  { info, request }: VerbRequest,
): Promise<VerbResult> {
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
  const { shown } = target.value;
  let answered: Forwarded;
  try {
    answered = await forward(bare(request), target.value, {});
  } catch (error) {
    return failure(unknownStatus(`Get "${shown}": ${messageOf(error)}`));
  }
  const { code, headers, chunks } = answered;
  if (headers.location !== undefined && code >= 300 && code < 400) {
    return failure(unknownStatus(`Get "${String(headers.location)}": redirects forbidden`));
  }
  if (code < 200 || code > 206) return failure(await kubeletFault(code, chunks, info.name));
  return success({
    code: 200,
    body: { form: "stream", stream: { contentType: "text/plain", headers: {}, chunks } },
  });
}

/** A request without what only the client's own request had. */
function bare({ signal, peer, query, path }: ApiRequest): ApiRequest {
  return { method: "GET", path, query, headers: {}, body: { form: "none" }, peer, signal };
}

async function kubeletFault(
  code: number,
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): Promise<Status> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > FAULT_BYTES_MAX) break;
  }
  const text = Buffer.concat(parts).subarray(0, FAULT_BYTES_MAX).toString();
  if (code === 500) return internalErrorStatus(text);
  if (code === 400) return badRequestStatus(text);
  return serverResponseStatus(code, { group: "", resource: "pods/log" }, name, text);
}
