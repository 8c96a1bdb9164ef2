/** The headers by which a front proxy names the user that it speaks for. */
import type { User } from "../request/request.ts";

export type ProxyHeaders = Readonly<Record<string, string | readonly string[]>>;

export function userHeaders({ name, uid, groups, extra = {} }: User): ProxyHeaders {
  const headers: Record<string, string | readonly string[]> = { "X-Remote-User": name };
  if (uid !== undefined && uid !== "") headers["X-Remote-Uid"] = uid;
  if (groups.length > 0) headers["X-Remote-Group"] = groups;
  for (const [key, values] of Object.entries(extra)) {
    headers[`X-Remote-Extra-${escapeHeaderName(key)}`] = values;
  }
  return headers;
}

/** The aggregation layer itself, when it asks for discovery. */
export const AGGREGATOR: User = { name: "system:kube-aggregator", groups: ["system:masters"] };

/** Percent-encodes the bytes that a header's name cannot have. */
function escapeHeaderName(key: string): string {
  const bytes = [...Buffer.from(key, "utf8")];
  return bytes.map((byte) => (isTokenByte(byte) ? String.fromCharCode(byte) : hex(byte))).join("");
}

function isTokenByte(byte: number): boolean {
  return byte < 127 && byte !== 0x25 && TOKEN.test(String.fromCharCode(byte));
}

const TOKEN = /^[!#$&'*+\-.^_`|~0-9A-Za-z]$/;

function hex(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
