/** Request-header authentication: a proxy with a trusted certificate sends the user in headers. */
import type { ApiRequest } from "../request/request.ts";
import type { Authenticator } from "./authenticator.ts";
import { headerValues, keyedHeaders } from "./headers.ts";
import { authenticated } from "./users.ts";

export interface FrontProxyOptions {
  /** Common names of proxies; empty allows every certificate of the authority. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

export function createFrontProxyAuthenticator(options: FrontProxyOptions): Authenticator {
  return {
    name: "front-proxy",
    authenticate(request) {
      const { certificate } = request.peer;
      if (certificate?.frontProxy !== true) return { outcome: "unknown" };
      const { commonName } = certificate;
      if (options.allowedNames.length > 0 && !options.allowedNames.includes(commonName)) {
        const reason = `x509: subject with cn=${commonName} is not in the allowed list`;
        return { outcome: "refused", reason };
      }
      const name = firstValue(request, options.usernameHeaders);
      if (name === "") return { outcome: "unknown" };
      const uid = firstValue(request, options.uidHeaders);
      const groups = lower(options.groupHeaders).flatMap((header) =>
        headerValues(request, header).filter((value) => value !== ""),
      );
      const extra = lower(options.extraHeaderPrefixes).flatMap((prefix) => [
        ...keyedHeaders(request, prefix),
      ]);
      const user = authenticated({
        name,
        groups,
        ...(uid === "" ? {} : { uid }),
        ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
      });
      return { outcome: "known", user };
    },
  };
}

function firstValue(request: ApiRequest, names: readonly string[]): string {
  const values = lower(names).flatMap((name) => headerValues(request, name).slice(0, 1));
  return values.find((value) => value !== "") ?? "";
}

function lower(names: readonly string[]): string[] {
  return names.map((name) => name.toLowerCase());
}
