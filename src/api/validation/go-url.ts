/** URLs as Go reads them: which parts there are, and in which words a bad one is refused. */
import { goQuote } from "#api/meta/go-quote.ts";

export interface GoUrl {
  readonly scheme: string;
  /** Before the `@`, or undefined if there is none. */
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

export type ParsedUrl =
  | { readonly ok: true; readonly url: GoUrl }
  | { readonly ok: false; readonly fault: string };

export function parseGoUrl(text: string): ParsedUrl {
  const hash = text.indexOf("#");
  const beforeHash = hash < 0 ? text : text.slice(0, hash);
  const rawFragment = hash < 0 ? "" : text.slice(hash + 1);
  const fault = (subject: string, detail: string): ParsedUrl => ({
    ok: false,
    fault: `parse ${goQuote(subject)}: ${detail}`,
  });
  if (CONTROL.test(beforeHash)) {
    return fault(beforeHash, "net/url: invalid control character in URL");
  }
  const parts = splitUrl(beforeHash);
  if ("fault" in parts) return fault(beforeHash, parts.fault);
  const fragment = unescapePart(rawFragment);
  if (fragment === undefined) return fault(text, escapeFault(rawFragment));
  return { ok: true, url: { ...parts, fragment } };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const USER = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

type Split = Omit<GoUrl, "fragment"> | { readonly fault: string };

function splitUrl(text: string): Split {
  if (text.startsWith(":")) return { fault: "missing protocol scheme" };
  const none = { user: undefined, host: "", query: "" };
  if (text === "*") return { scheme: "", ...none };
  const scheme = SCHEME.exec(text)?.[1] ?? "";
  let rest = scheme === "" ? text : text.slice(scheme.length + 1);
  const mark = rest.indexOf("?");
  const query = mark < 0 ? "" : rest.slice(mark + 1);
  if (mark >= 0) rest = rest.slice(0, mark);

  const lower = scheme.toLowerCase();
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { scheme: lower, ...none, query };
    const [segment = ""] = rest.split("/");
    if (segment.includes(":")) return { fault: "first path segment in URL cannot contain colon" };
  }
  let authority: { user: string | undefined; host: string } = { user: undefined, host: "" };
  if (rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"))) {
    const end = rest.indexOf("/", 2);
    const parsed = splitAuthority(end < 0 ? rest.slice(2) : rest.slice(2, end));
    if ("fault" in parsed) return parsed;
    authority = parsed;
    rest = end < 0 ? "" : rest.slice(end);
  }
  if (unescapePart(rest) === undefined) return { fault: escapeFault(rest) };
  return { scheme: lower, ...authority, query };
}

function splitAuthority(
  text: string,
): { user: string | undefined; host: string } | { readonly fault: string } {
  const at = text.lastIndexOf("@");
  const hostText = text.slice(at + 1);
  const fault = hostFault(hostText);
  if (fault !== undefined) return { fault };
  if (at < 0) return { user: undefined, host: hostText };
  const user = text.slice(0, at);
  if (!USER.test(user)) return { fault: "net/url: invalid userinfo" };
  if (unescapePart(user) === undefined) return { fault: escapeFault(user) };
  return { user, host: hostText };
}

const HOST_CHARACTER = /[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\u{10ffff}]/u;

function hostFault(host: string): string | undefined {
  if (host.startsWith("[")) {
    const close = host.lastIndexOf("]");
    if (close < 0) return "missing ']' in host";
    return portFault(host.slice(close + 1));
  }
  const colon = host.lastIndexOf(":");
  const port = colon < 0 ? undefined : portFault(host.slice(colon));
  if (port !== undefined) return port;
  for (const char of host) {
    if (!HOST_CHARACTER.test(char)) return `invalid character ${goQuote(char)} in host name`;
  }
  const sequence = /%(?!25)..?/.exec(host)?.[0];
  return sequence === undefined ? undefined : `invalid URL escape ${goQuote(sequence)}`;
}

function portFault(port: string): string | undefined {
  return /^(:[0-9]*)?$/.test(port) ? undefined : `invalid port ${goQuote(port)} after host`;
}

function unescapePart(text: string): string | undefined {
  if (!text.includes("%")) return text;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "%") bytes.push(Number.parseInt(text.slice(i + 1, i + 3), 16));
    else bytes.push(...new TextEncoder().encode(text[i]));
    if (text[i] === "%") i += 2;
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function escapeFault(text: string): string {
  const sequence = /%(?![0-9A-Fa-f]{2})(.{0,2})/.exec(text)?.[0] ?? "";
  return `invalid URL escape ${goQuote(sequence)}`;
}
