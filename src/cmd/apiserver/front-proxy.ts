/** How a proxy in front of the server names the users it speaks for. */
import type { FrontProxyOptions } from "#apiserver/authn/front-proxy.ts";
import { FRONT_PROXY_NAME } from "#pki/cluster-pki.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

export function frontProxyOf(flags: ApiServerFlags): FrontProxyOptions {
  const ownAuthority = flags.requestheaderClientCaFile === undefined;
  return {
    allowedNames: ownAuthority ? [FRONT_PROXY_NAME] : flags.requestheaderAllowedNames,
    usernameHeaders: flags.requestheaderUsernameHeaders,
    // Another's proxy may let through what clients send under this name.
    uidHeaders: flags.requestheaderUidHeaders ?? (ownAuthority ? ["X-Remote-Uid"] : []),
    groupHeaders: flags.requestheaderGroupHeaders,
    extraHeaderPrefixes: flags.requestheaderExtraHeadersPrefix,
  };
}
