/** --cors-allowed-origins and --strict-transport-security-directives. */
import type { ResponseHeaderRules } from "#apiserver/http/response-headers.ts";

interface ResponseHeaderFlags {
  readonly corsAllowedOrigins: readonly string[];
  readonly strictTransportSecurityDirectives: readonly string[];
}

export function responseHeaderRules(flags: ResponseHeaderFlags): ResponseHeaderRules {
  return {
    allowedOrigins: flags.corsAllowedOrigins.map((pattern) => new RegExp(pattern)),
    strictTransportSecurity: flags.strictTransportSecurityDirectives,
  };
}

export function responseHeaderFaults(flags: ResponseHeaderFlags): string[] {
  return [
    ...flags.corsAllowedOrigins.flatMap(originFaults),
    ...flags.strictTransportSecurityDirectives.flatMap(directiveFaults),
  ];
}

/** A pattern that is not bound to both ends of the host would let other hosts in. */
function originFaults(pattern: string): string[] {
  const fault = (why: string): string[] => [
    `--cors-allowed-origins has an invalid regular expression: ${why}`,
  ];
  try {
    new RegExp(pattern);
  } catch (error) {
    return fault(String(error));
  }
  const isPinned = /\^|\/\//.test(pattern) && /[$:]/.test(pattern);
  return isPinned
    ? []
    : fault("regular expression does not pin to start/end of host in the origin header");
}

function directiveFaults(directive: string): string[] {
  if (/^(includeSubDomains|preload|max-age=[^=]*)$/.test(directive)) return [];
  return [
    "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information",
  ];
}
