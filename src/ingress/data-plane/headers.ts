/**
 * Headers on their way through the proxy.
 *
 * Promises:
 * 1. Headers of one connection (RFC 9110, 7.6.1), and those that `Connection` names, are not forwarded.
 * 2. `X-Forwarded-*` and `X-Real-IP` say what this proxy saw. What a client claims in them is forwarded
 *    only if the client is a trusted proxy, and then `X-Forwarded-For` is added to.
 */
export interface ForwardedFacts {
  readonly client: string;
  readonly host: string;
  readonly isTls: boolean;
  readonly port: number;
  /** Whether the client's own X-Forwarded-* are believed. */
  readonly isTrusted: boolean;
}

type Raw = readonly string[];

const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te"],
  ...["proxy-authenticate", "proxy-authorization", "trailer", "http2-settings"],
]);
const FORWARDED: ReadonlySet<string> = new Set([
  ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto"],
  ...["x-forwarded-scheme", "x-real-ip", "forwarded"],
]);
/** What the program that reads the body has dealt with. */
const REPLACED: ReadonlySet<string> = new Set(["host", "expect"]);

/** For an endpoint: names and values in turn, as in the request. */
export function requestHeaders(raw: Raw, facts: ForwardedFacts): string[] {
  const named = connectionNames(raw);
  const headers = ["Host", facts.host];
  let forwardedFor = "";
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    if (name.startsWith(":") || REPLACED.has(name) || isOfConnection(name, named)) continue;
    if (FORWARDED.has(name)) {
      if (!facts.isTrusted) continue;
      if (name === "x-forwarded-for") {
        forwardedFor += `${raw[i + 1]}, `;
        continue;
      }
    }
    headers.push(raw[i]!, raw[i + 1]!);
  }
  const has = (name: string): boolean =>
    facts.isTrusted && headers.some((each, i) => i % 2 === 0 && each.toLowerCase() === name);
  headers.push("X-Forwarded-For", forwardedFor + facts.client);
  if (!has("x-real-ip")) headers.push("X-Real-IP", facts.client);
  if (!has("x-forwarded-host")) headers.push("X-Forwarded-Host", facts.host);
  if (!has("x-forwarded-port")) headers.push("X-Forwarded-Port", String(facts.port));
  if (!has("x-forwarded-proto")) headers.push("X-Forwarded-Proto", facts.isTls ? "https" : "http");
  return headers;
}

/** For a client over HTTP/1.1. */
export function responseHeaders(raw: Raw): string[] {
  const named = connectionNames(raw);
  const headers: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    if (!isOfConnection(raw[i]!.toLowerCase(), named)) headers.push(raw[i]!, raw[i + 1]!);
  }
  return headers;
}

/** As HTTP/2 takes headers: lower case, several values in a list. */
export function http2Headers(flat: Raw): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase();
    const value = flat[i + 1]!;
    const known = headers[name];
    if (name === "cookie" && typeof known === "string") headers[name] = `${known}; ${value}`;
    else if (known === undefined) headers[name] = value;
    else headers[name] = typeof known === "string" ? [known, value] : [...known, value];
  }
  return headers;
}

function headerOf(raw: Raw, name: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.toLowerCase() === name) return raw[i + 1];
  return undefined;
}

/** The value of a cookie of the request. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(";") ?? []) {
    const equals = part.indexOf("=");
    if (equals !== -1 && part.slice(0, equals).trim() === name)
      return part.slice(equals + 1).trim();
  }
  return undefined;
}

function isOfConnection(name: string, named: readonly string[]): boolean {
  return CONNECTION_HEADERS.has(name) || (named.length > 0 && named.includes(name));
}

function connectionNames(raw: Raw): readonly string[] {
  const value = headerOf(raw, "connection");
  if (value === undefined || /^(keep-alive|close|upgrade)$/i.test(value)) return [];
  return value
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
}
