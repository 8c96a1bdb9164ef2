/**
 * HTTP requests of probes and lifecycle hooks. Certificates are not checked, connections are not
 * kept, redirects are followed only within the same host, and no more than 10 KB are read.
 */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Container, HTTPGetAction } from "#api/generated/core.v1.ts";
import { codeOf, messageOf } from "#lib/caught.ts";

const BODY_BYTES_MAX = 10 * 1024;
const REDIRECTS_MAX = 10;

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  /** The server sent the client to another host: it is alive, but that is all that is known. */
  readonly isForeignRedirect: boolean;
}

export interface HttpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/** Throws when the port has a name that no port of the container has. */
export function httpTarget(
  action: HTTPGetAction,
  container: Pick<Container, "ports">,
  podIp: string,
  kind: "probe" | "lifecycle",
): HttpTarget {
  const port = portNumber(action.port, container);
  const host = action.host || podIp;
  const path = action.path ?? "/";
  const scheme = (action.scheme ?? "HTTP").toLowerCase();
  const authority = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const headers: Record<string, string | string[]> = {};
  for (const { name, value } of action.httpHeaders ?? []) {
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  const has = (name: string): boolean =>
    Object.keys(headers).some((one) => one.toLowerCase() === name);
  if (!has("accept")) headers.Accept = "*/*";
  if (!has("user-agent")) {
    headers["User-Agent"] = kind === "probe" ? "kube-probe/1.36" : "kube-lifecycle/1.36";
  }
  return {
    url: `${scheme}://${authority}:${port}${path.startsWith("/") ? path : `/${path}`}`,
    headers,
  };
}

export function portNumber(
  port: number | string,
  { ports = [] }: Pick<Container, "ports">,
): number {
  if (typeof port === "number") return port;
  const named = ports.find(({ name }) => name === port)?.containerPort;
  const number = named ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(`couldn't find port: ${JSON.stringify(port)}`);
}

export async function httpGet(target: HttpTarget, signal: AbortSignal): Promise<HttpAnswer> {
  let { url } = target;
  for (let redirects = 0; ; redirects++) {
    const answer = await getOnce(url, target.headers, signal);
    const { location } = answer.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status);
    if (!isRedirect || location === undefined) return { ...answer, isForeignRedirect: false };
    const next = new URL(location, url);
    if (next.hostname !== new URL(url).hostname) return { ...answer, isForeignRedirect: true };
    if (redirects === REDIRECTS_MAX) throw new Error(`stopped after ${REDIRECTS_MAX} redirects`);
    url = next.href;
  }
}

interface OneAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function getOnce(
  url: string,
  headers: HttpTarget["headers"],
  signal: AbortSignal,
): Promise<OneAnswer> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? httpsRequest : httpRequest;
    const fail = (error: unknown): void =>
      reject(signal.aborted ? signal.reason : new Error(`Get "${url}": ${dialWords(error)}`));
    const request = send(url, {
      headers: headers as Record<string, string>,
      agent: false,
      rejectUnauthorized: false,
      signal,
    });
    request.on("error", fail);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const done = (): void => {
        const body = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        request.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk.subarray(0, BODY_BYTES_MAX - length));
        length += chunk.length;
        if (length >= BODY_BYTES_MAX) done();
      });
      response.on("end", done);
      response.on("error", fail);
    });
    request.end();
  });
}

/** `dial tcp 10.0.0.1:80: connect: connection refused`, as clients of Go have it. */
export function dialWords(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return messageOf(error);
  const { address = "", port = "" } = error as Error & { address?: string; port?: number };
  const words = DIAL_ERRORS[codeOf(error) ?? ""];
  if (words === undefined) return error.message;
  const at = address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  return `dial tcp ${at}: connect: ${words}`;
}

const DIAL_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
};
