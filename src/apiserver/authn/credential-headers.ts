/**
 * Headers with credentials or identities. They are never forwarded to pods, services, nodes or other
 * API servers, which could use or trust them.
 */
import type { FrontProxyOptions } from "./front-proxy.ts";

/** Expects names in lower case. */
export type IsCredentialHeader = (name: string) => boolean;

type HeaderNames = Omit<FrontProxyOptions, "allowedNames">;

/** The standard names of the front proxy count always, those of `--requestheader-*` in addition. */
export function credentialHeaders(configured: HeaderNames | undefined): IsCredentialHeader {
  const all = configured === undefined ? [STANDARD] : [STANDARD, configured];
  const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
  const names = new Set(
    all.flatMap(({ usernameHeaders, uidHeaders, groupHeaders }) =>
      lower([...usernameHeaders, ...uidHeaders, ...groupHeaders, "Authorization"]),
    ),
  );
  const prefixes = [
    "impersonate-",
    ...all.flatMap(({ extraHeaderPrefixes }) => lower(extraHeaderPrefixes)),
  ];
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

const STANDARD: HeaderNames = {
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: ["X-Remote-Uid"],
  groupHeaders: ["X-Remote-Group"],
  extraHeaderPrefixes: ["X-Remote-Extra-"],
};
