/** For whom a PKCS#10 certificate request asks: its subject and the names beside it. */
import { type DerTree, oidText, parseDer } from "#lib/der/read-der.ts";

export interface RequestNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /** As bytes: 4 or 16 of them. */
  readonly ipAddresses: readonly Uint8Array[];
}

const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";
const SUBJECT_ALT_NAME = "2.5.29.17";
const ATTRIBUTES = 0xa0;
const UTF8_STRING = 0x0c;
const ALT_NAME = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 };

/** Undefined if the bytes are no request. */
export function readRequestNames(der: Uint8Array): RequestNames | undefined {
  const [info] = parseDer(der)?.children ?? [];
  const [, subject, , ...rest] = info?.children ?? [];
  if (subject === undefined) return undefined;
  const valuesOf = (type: string): string[] =>
    subject.children
      .flatMap(({ children }) => children)
      .flatMap(({ children: [oid, value] }) =>
        oid !== undefined && value !== undefined && oidText(oid) === type ? [textOf(value)] : [],
      );
  const altNames = altNamesOf(rest.find(({ tag }) => tag === ATTRIBUTES));
  const named = (tag: number): string[] => altNames.filter((n) => n.tag === tag).map(textOf);
  return {
    commonName: valuesOf(COMMON_NAME).at(-1) ?? "",
    organizations: valuesOf(ORGANIZATION),
    dnsNames: named(ALT_NAME.dns),
    emailAddresses: named(ALT_NAME.email),
    uris: named(ALT_NAME.uri),
    ipAddresses: altNames.filter(({ tag }) => tag === ALT_NAME.ip).map(({ content }) => content),
  };
}

function altNamesOf(attributes: DerTree | undefined): readonly DerTree[] {
  for (const { children } of attributes?.children ?? []) {
    const [oid, values] = children;
    if (oid === undefined || oidText(oid) !== EXTENSION_REQUEST) continue;
    for (const extension of values?.children[0]?.children ?? []) {
      const [type] = extension.children;
      const value = extension.children.at(-1);
      if (type === undefined || value === undefined || oidText(type) !== SUBJECT_ALT_NAME) continue;
      return parseDer(value.content)?.children ?? [];
    }
  }
  return [];
}

function textOf({ tag, content }: DerTree): string {
  if (tag === UTF8_STRING) return new TextDecoder().decode(content);
  return String.fromCharCode(...content);
}
