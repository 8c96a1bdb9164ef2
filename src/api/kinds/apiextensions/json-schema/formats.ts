/** The `format`s that custom resources are held to; others are taken as if they were not there. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import { parseGoUrl } from "#api/validation/go-url.ts";
import { parseCidr, parseIp } from "#api/validation/ip.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

/** The check of a text format, if it is one that is known; its name may have dashes. */
export function formatCheck(format: string): ((text: string) => boolean) | undefined {
  return CHECKS[format.replaceAll("-", "")];
}

/** A format that is unknown or does not apply to the schema's type. */
export function isUnrecognizedFormat({ type = "", format = "" }: JSONSchemaProps): boolean {
  if (format === "") return false;
  switch (type) {
    case "":
    case "string":
      return formatCheck(format) === undefined;
    case "integer":
      return format !== "int32" && format !== "int64";
    case "number":
      return format !== "float" && format !== "double";
    default:
      return true;
  }
}

const matches = (pattern: RegExp) => (text: string) => pattern.test(text);
const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const CREDIT_CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$/;
const RGB_COLOR =
  /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/;
const DATE_TIME = /^\d{4}-\d\d-\d\d[tT ]\d\d:\d\d:\d\d([.,]\d+)?([zZ]|[+-]\d\d:?\d\d)?$/;
const SCALA_DURATION =
  /^\s*\d+(\.\d+)?\s*(ns|nanos?(econds?)?|us|µs|micros?(econds?)?|ms|millis?(econds?)?|s|secs?(onds?)?|m|mins?(utes?)?|h|hrs?|hours?|d|days?|w|weeks?)\s*$/;

const CHECKS: Readonly<Record<string, ((text: string) => boolean) | undefined>> = {
  bsonobjectid: matches(/^[0-9a-fA-F]{24}$/),
  uri: isRequestUri,
  email: matches(/^(?:[^<>]*<)?[^\s@<>(),;:\\"[\]]+@[^\s@<>(),;:\\"[\]]+>?$/),
  hostname: (text) =>
    HOSTNAME.test(text) &&
    utf8Length(text) <= 255 &&
    text.split(".").every((part) => utf8Length(part) <= 63),
  ipv4: (text) => text.includes(".") && parseIp(text) !== undefined,
  ipv6: (text) => text.includes(":") && parseIp(text) !== undefined,
  cidr: (text) => parseCidr(text) !== undefined,
  mac: matches(
    /^([0-9a-fA-F]{2}([:-]))([0-9a-fA-F]{2}\2){4,18}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}\.){2,9}[0-9a-fA-F]{4}$/,
  ),
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid3: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid4: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  uuid5: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  hexcolor: matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matches(RGB_COLOR),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  password: () => true,
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text),
  duration: (text) => parseDuration(text).ok || SCALA_DURATION.test(text),
  datetime: (text) => DATE_TIME.test(text) && isDay(text.slice(0, 10)),
  k8sshortname: (text) => isDns1123Label(text).length === 0,
  k8slongname: (text) => isDns1123Subdomain(text).length === 0,
};

function isRequestUri(text: string): boolean {
  const parsed = parseGoUrl(text);
  return parsed.ok && text !== "" && (text.startsWith("/") || parsed.url.scheme !== "");
}

function isDay(text: string): boolean {
  const [year, month, day] = text.split("-").map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^[0-9]{9}(X|[0-9])$/.test(digits)) return false;
  const sum = [...digits].reduce((s, d, i) => s + (10 - i) * (d === "X" ? 10 : Number(d)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  return [...digits].reduce((s, d, i) => s + Number(d) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, "");
  if (!CREDIT_CARD.test(digits)) return false;
  const sum = [...digits].reverse().reduce((s, d, i) => {
    const doubled = Number(d) * (i % 2 === 0 ? 1 : 2);
    return s + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
