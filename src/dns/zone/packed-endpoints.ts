/**
 * The endpoints of a slice in little memory: a string with the length and the bytes of each address, and the
 * length and the characters of its hostname. The hostname that an IPv4 address has by default is not stored.
 */
import { type Address, bytesAt } from "./packed-addresses.ts";

export interface EndpointEntry {
  /** The label of the endpoint below its Service. */
  readonly hostname: string;
  readonly address: Address;
}

export function packEndpoints(endpoints: readonly EndpointEntry[]): string {
  return endpoints
    .flatMap(({ address, hostname }) => {
      const stored = hostname === defaultHostname(address) ? "" : hostname;
      return [String.fromCharCode(address.length, ...address, stored.length), stored];
    })
    .join("");
}

export function unpackEndpoints(packed: string): readonly EndpointEntry[] {
  const endpoints: EndpointEntry[] = [];
  for (let at = 0; at < packed.length; ) {
    const addressLength = packed.charCodeAt(at);
    const address = bytesAt(packed, at + 1, addressLength);
    const hostnameAt = at + 1 + addressLength + 1;
    const end = hostnameAt + packed.charCodeAt(hostnameAt - 1);
    const hostname = packed.slice(hostnameAt, end) || defaultHostname(address);
    endpoints.push({ hostname, address });
    at = end;
  }
  return endpoints;
}

/** That of an IPv6 address depends on how the address is written: it is always stored. */
function defaultHostname(address: Address): string {
  return address.length === 4 ? address.join("-") : "";
}
