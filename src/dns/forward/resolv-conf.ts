/** The name servers of an upstream list: addresses, `address:port`, or files in the form of resolv.conf. */
import { isIP } from "node:net";

export interface Upstream {
  readonly address: string;
  readonly port: number;
}

const PORT = 53;
/** As CoreDNS. */
export const UPSTREAMS_MAX = 15;

/** Undefined if the text is neither. */
export function parseUpstream(text: string): Upstream | undefined {
  if (isIP(text) !== 0) return { address: text, port: PORT };
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const address = match[1] ?? match[2] ?? "";
  const port = Number(match[3]);
  return isIP(address) !== 0 && port > 0 && port < 65_536 ? { address, port } : undefined;
}

/** The last `search` or `domain` line counts. */
export function searchListIn(resolvConf: string): string[] {
  const lists = resolvConf.split("\n").flatMap((line) => {
    const [keyword, ...domains] = line.trim().split(/\s+/);
    return keyword === "search" || keyword === "domain" ? [domains] : [];
  });
  const names = (lists.at(-1) ?? []).map((name) => name.toLowerCase().replace(/\.$/, ""));
  return names.filter((name) => name !== "");
}

export function nameServersIn(resolvConf: string): Upstream[] {
  return resolvConf.split("\n").flatMap((line) => {
    const [keyword, address = ""] = line.trim().split(/\s+/);
    // An address with a zone (fe80::1%eth0) is one of a link: it is used as it is.
    return keyword === "nameserver" && isIP(address) !== 0 ? [{ address, port: PORT }] : [];
  });
}
