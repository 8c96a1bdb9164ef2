/**
 * What annotations say about the routes of an Ingress. docs/ingress.md lists them.
 *
 * Promises:
 * 1. Every annotation may have the prefix `ingress.k8ts.io/` or that of ingress-nginx; ours wins.
 * 2. A value that cannot be used is a problem in words, and the default holds.
 * 3. Nothing that an annotation says can break out of the header or URL it is put into.
 */
export type BackendProtocol = "HTTP" | "HTTPS" | "GRPC" | "GRPCS";

export interface CookieAffinity {
  readonly cookie: string;
  readonly path: string;
  /** Undefined: until the browser is closed. */
  readonly maxAgeSeconds: number | undefined;
}

export interface RoutePolicy {
  /** Undefined: the Service port's `appProtocol` decides. */
  readonly backendProtocol: BackendProtocol | undefined;
  /** Redirect to HTTPS where the host has a certificate. */
  readonly sslRedirect: boolean;
  /** Redirect to HTTPS even where it has none, because TLS ends in front of this proxy. */
  readonly forceSslRedirect: boolean;
  readonly redirect: { readonly code: number; readonly url: string } | undefined;
  /** Where requests for `/` are redirected to. */
  readonly appRoot: string | undefined;
  readonly rewriteTarget: string | undefined;
  /** Paths of type ImplementationSpecific are regular expressions. */
  readonly useRegex: boolean;
  /** 0: unlimited. */
  readonly bodyBytesMax: number;
  readonly connectTimeoutMs: number;
  /** The longest pause between two chunks of a response. */
  readonly readTimeoutMs: number;
  readonly affinity: CookieAffinity | undefined;
}

export interface ReadPolicy {
  readonly policy: RoutePolicy;
  readonly problems: readonly string[];
}

const PREFIXES = ["ingress.k8ts.io/", "nginx.ingress.kubernetes.io/"];
/** The defaults of ingress-nginx. */
const BODY_BYTES_MAX = 1024 * 1024;
const CONNECT_TIMEOUT_SECONDS = 5;
const READ_TIMEOUT_SECONDS = 60;
const TIMEOUT_MAX_SECONDS = 86_400;
const COOKIE = "INGRESSCOOKIE";
const PROTOCOLS: ReadonlySet<string> = new Set(["HTTP", "HTTPS", "GRPC", "GRPCS"]);
const REDIRECT_CODES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function readPolicy(annotations: Readonly<Record<string, string>> = {}): ReadPolicy {
  const problems: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined): T | undefined => {
    const key = PREFIXES.map((prefix) => prefix + name).find((k) => Object.hasOwn(annotations, k));
    if (key === undefined) return undefined;
    const value = parse(annotations[key]!.trim());
    if (value === undefined)
      problems.push(`annotation ${key}: ${show(annotations[key]!)} is not valid`);
    return value;
  };
  const timeoutMs = (name: string, defaultSeconds: number): number =>
    1000 * (read(name, parseSeconds) ?? defaultSeconds);
  const permanent = read("permanent-redirect", parseUrl);
  const permanentCode = read("permanent-redirect-code", parseRedirectCode) ?? 301;
  const temporal = read("temporal-redirect", parseUrl);
  const policy: RoutePolicy = {
    backendProtocol: read("backend-protocol", parseProtocol),
    sslRedirect: read("ssl-redirect", parseBoolean) ?? true,
    forceSslRedirect: read("force-ssl-redirect", parseBoolean) ?? false,
    redirect: redirectTo(temporal, 302) ?? redirectTo(permanent, permanentCode),
    appRoot: read("app-root", parsePath),
    rewriteTarget: read("rewrite-target", parsePath),
    useRegex: read("use-regex", parseBoolean) ?? false,
    bodyBytesMax: read("proxy-body-size", parseSize) ?? BODY_BYTES_MAX,
    connectTimeoutMs: timeoutMs("proxy-connect-timeout", CONNECT_TIMEOUT_SECONDS),
    readTimeoutMs: timeoutMs("proxy-read-timeout", READ_TIMEOUT_SECONDS),
    affinity: affinityOf(read),
  };
  return { policy, problems };
}

function redirectTo(url: string | undefined, code: number): RoutePolicy["redirect"] {
  return url === undefined ? undefined : { code, url };
}

type Read = <T>(name: string, parse: (text: string) => T | undefined) => T | undefined;

function affinityOf(read: Read): CookieAffinity | undefined {
  const kind = read("affinity", (text) => (text === "cookie" ? text : undefined));
  const cookie = read("session-cookie-name", parseToken) ?? COOKIE;
  const path = read("session-cookie-path", parseCookiePath) ?? "/";
  const maxAgeSeconds = read("session-cookie-max-age", parseCount);
  return kind === undefined ? undefined : { cookie, path, maxAgeSeconds };
}

function parseBoolean(text: string): boolean | undefined {
  if (text === "true") return true;
  return text === "false" ? false : undefined;
}

function parseProtocol(text: string): BackendProtocol | undefined {
  const name = text.toUpperCase();
  return PROTOCOLS.has(name) ? (name as BackendProtocol) : undefined;
}

function parseSeconds(text: string): number | undefined {
  const match = /^(\d{1,5})s?$/.exec(text);
  const seconds = Number(match?.[1]);
  return match !== null && seconds > 0 && seconds <= TIMEOUT_MAX_SECONDS ? seconds : undefined;
}

function parseCount(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** `8m`, `512k`, `1g` or bytes, as nginx writes sizes. */
function parseSize(text: string): number | undefined {
  const match = /^(\d{1,12})([kmg]?)$/i.exec(text);
  if (match === null) return undefined;
  const unit = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[match[2]!.toLowerCase()];
  return unit === undefined ? undefined : Number(match[1]) * unit;
}

function parseUrl(text: string): string | undefined {
  return /^https?:\/\/[\x21-\x7e]{1,2000}$/.test(text) && URL.canParse(text) ? text : undefined;
}

function parsePath(text: string): string | undefined {
  return /^\/[\x21-\x7e]{0,2000}$/.test(text) ? text : undefined;
}

function parseCookiePath(text: string): string | undefined {
  return text.includes(";") ? undefined : parsePath(text);
}

function parseToken(text: string): string | undefined {
  return /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(text) ? text : undefined;
}

function parseRedirectCode(text: string): number | undefined {
  return REDIRECT_CODES.has(Number(text)) ? Number(text) : undefined;
}

function show(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
