/** The log of a container as text, by a direct call to the API server: what `kubectl logs` shows. */
import { failure, type Result, success } from "#api/meta/status.ts";
import { statusFrom } from "#api/meta/status-from.ts";
import type { Handler } from "#apiserver/request/handler.ts";
import type { User } from "#apiserver/request/request.ts";

export interface LogOptions {
  readonly namespace?: string;
  /** May be left out for a pod with one container. */
  readonly container?: string;
  /** Of the run before the last restart. */
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tailLines?: number;
}

export async function readLogs(
  handle: Handler,
  user: User,
  { namespace, pod, ...wanted }: LogOptions & { readonly namespace: string; readonly pod: string },
): Promise<Result<string>> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wanted)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const answer = await handle({
    ...{ method: "GET", path: `/api/v1/namespaces/${namespace}/pods/${pod}/log`, query },
    headers: { accept: "application/json, */*", "user-agent": "k8ts-test" },
    ...{ body: { form: "none" }, peer: { address: "in-process", user } },
    signal: new AbortController().signal,
  });
  const { code, body } = answer;
  try {
    if (body.form === "value") return failure(statusFrom(code, body.value));
    if (body.form === "bytes") return success(Buffer.from(body.bytes).toString());
    if (body.form !== "stream") throw new Error(`a log was answered with ${body.form}`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body.stream.chunks) chunks.push(chunk);
    return success(Buffer.concat(chunks).toString());
  } finally {
    answer.sent?.();
  }
}
