/** Addresses to which traffic may be sent. */
import { type FieldError, invalid } from "./field-error.ts";
import { parseIp } from "./ip.ts";
import type { Path } from "./path.ts";

/** No place for endpoints: the unspecified, loopback and link-local addresses. */
export function validateEndpointIp(text: string, path: Path): FieldError[] {
  const ip = parseIp(text);
  if (ip === undefined) return [invalid(path, text, "must be a valid IP address")];
  const [a, b] = ip.bytes as [number, number];
  const isV4 = ip.bytes.length === 4;
  const isZero = ip.bytes.every((byte) => byte === 0);
  const isOne = ip.bytes.every((byte, i) => byte === (i === ip.bytes.length - 1 ? 1 : 0));
  const errors: FieldError[] = [];
  if (isZero) errors.push(invalid(path, text, `may not be unspecified (${text})`));
  if (isV4 ? a === 127 : isOne) {
    errors.push(invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"));
  }
  if (isV4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80) {
    const detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    errors.push(invalid(path, text, detail));
  }
  if (isV4 ? a === 224 && b === 0 && ip.bytes[2] === 0 : a === 0xff && (b & 0x0f) === 0x02) {
    const detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    errors.push(invalid(path, text, detail));
  }
  return errors;
}
