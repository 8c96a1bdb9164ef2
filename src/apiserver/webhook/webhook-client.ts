/**
 * Posts JSON to the webhook that an object's `clientConfig` names, by URL or by Service, and returns its
 * JSON answer. Used for conversion and admission webhooks.
 */
import { statusFrom } from "#api/meta/status-from.ts";
import { messageOf } from "#lib/caught.ts";
import type { HttpsAnswer, HttpsCaller, HttpsEndpoint } from "./https-caller.ts";
import type { ServiceResolver } from "./service-resolver.ts";

export interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  /** Base64 of PEM. */
  readonly caBundle?: string;
}

export interface WebhookCredentials {
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WebhookCall {
  readonly config: WebhookClientConfig;
  readonly body: string;
  readonly timeoutMs: number;
  /** Chosen by the host name and port of the webhook. */
  credentialsFor?(host: string, port: number): WebhookCredentials | undefined;
  readonly signal?: AbortSignal;
}

/** Limit of one response, which is parsed as a whole. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** The webhook was asked and answered with an HTTP status that is no success. */
export class WebhookStatusError extends Error {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

export class WebhookClient {
  readonly #caller: HttpsCaller;
  readonly #services: ServiceResolver;

  constructor(caller: HttpsCaller, services: ServiceResolver) {
    this.#caller = caller;
    this.#services = services;
  }

  /** Rejects with an error whose message is upstream's. */
  async post({ config, body, timeoutMs, credentialsFor, signal }: WebhookCall): Promise<unknown> {
    const place = placeOf(config, timeoutMs);
    const failed = (why: string): Error => new Error(`Post "${place.shown}": ${why}`);
    const credentials = credentialsFor?.(place.hostname, place.port);
    const endpoint = this.#endpointOf(config, place, failed);
    const call = {
      endpoint: { ...endpoint, ...certificateOf(credentials) },
      method: "POST",
      path: place.path,
      headers: {
        host: `${place.hostname}:${place.port}`,
        "content-type": "application/json",
        accept: "application/json",
        ...credentials?.headers,
      },
      body,
      timeoutMs,
      answerBytesMax: ANSWER_BYTES_MAX,
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const answer = await this.#caller.call(call).catch((error: unknown) => {
      throw failed(messageOf(error));
    });
    return jsonOf(answer);
  }

  #endpointOf(
    { service, caBundle = "" }: WebhookClientConfig,
    { hostname, port }: Place,
    failed: (why: string) => Error,
  ): HttpsEndpoint {
    const pem = Buffer.from(caBundle, "base64").toString();
    const ca = pem.trim() === "" ? {} : { ca: pem };
    if (service === undefined) return { host: hostname.replace(/^\[|\]$/g, ""), port, ...ca };
    const { namespace, name } = service;
    const found = this.#services.resolve({ namespace, name, port });
    if (!found.ok) throw failed(found.status.message ?? "");
    return { ...found.value, serverName: hostname, ...ca };
  }
}

interface Place {
  /** The URL as errors show it. */
  readonly shown: string;
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
}

function placeOf({ url: text = "", service }: WebhookClientConfig, timeoutMs: number): Place {
  const { namespace = "", name = "", path: servicePath = "", port: servicePort } = service ?? {};
  const base = service === undefined ? text : `https://${name}.${namespace}.svc`;
  const url = new URL(service === undefined ? "" : servicePath, base);
  if (url.protocol !== "https:") throw new Error(`Post "${url}": the scheme must be https`);
  url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
  const { hostname } = url;
  const path = `${url.pathname}${url.search}`;
  if (service === undefined) {
    return { shown: String(url), hostname, port: url.port === "" ? 443 : Number(url.port), path };
  }
  const port = servicePort ?? 443;
  return { shown: `https://${hostname}:${port}${path}`, hostname, port, path };
}

function certificateOf({ cert, key }: WebhookCredentials = {}) {
  return cert === undefined || key === undefined ? {} : { cert, key };
}

/** What the server says if it is no success, in the words of upstream's client. */
function jsonOf({ code, headers, body }: HttpsAnswer): unknown {
  const text = body.toString("utf8");
  if (code < 200 || code >= 300) {
    const type = String(headers["content-type"] ?? "");
    const content = type === "" || type.startsWith("text/") ? text.trim() : parsedStatus(text);
    throw new WebhookStatusError(statusFrom(code, content).message ?? "", code);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`couldn't get version/kind; json parse error: ${messageOf(error)}`);
  }
}

function parsedStatus(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : "unknown";
  } catch {
    return "unknown";
  }
}
