/** Who a certificate speaks of: the distinguished name, read from its bytes rather than from text. */
import { childrenOf, type DerValue, readDer, readOid, readString } from "#lib/der/read-der.ts";
import { der } from "#lib/der/write-der.ts";

export interface Subject {
  readonly commonName: string;
  /** Groups, in Kubernetes' reading. */
  readonly organizations?: readonly string[];
}

export interface ReadSubject extends Required<Subject> {
  /** Values of Kubernetes' own attribute for user ids. */
  readonly uids: readonly string[];
}

const COMMON_NAME = "2.5.4.3";
const ORGANIZATION = "2.5.4.10";
const USER_ID = "1.3.6.1.4.1.57683.2";

export function encodeSubject({ commonName, organizations = [] }: Partial<Subject>): Buffer {
  const attribute = (oid: string, text: string): Buffer =>
    der.sequence(der.oid(oid), der.utf8(text));
  const groups = organizations.map((organization) => attribute(ORGANIZATION, organization));
  return der.sequence(
    ...(groups.length > 0 ? [der.set(...groups)] : []),
    ...(commonName === undefined ? [] : [der.set(attribute(COMMON_NAME, commonName))]),
  );
}

export function readSubject(name: DerValue): ReadSubject {
  let commonName = "";
  const organizations: string[] = [];
  const uids: string[] = [];
  for (const attribute of childrenOf(name).flatMap(childrenOf)) {
    const [oid, value] = childrenOf(attribute);
    if (oid === undefined || value === undefined) continue;
    const type = readOid(oid);
    if (type === COMMON_NAME) commonName = readString(value);
    if (type === ORGANIZATION) organizations.push(readString(value));
    if (type === USER_ID) uids.push(readString(value));
  }
  return { commonName, organizations, uids };
}

/** The subject field of a whole certificate in DER form. */
export function certificateSubject(certificate: Buffer): DerValue<Buffer> {
  const [signed] = childrenOf(readDer(certificate));
  const fields = childrenOf(signed!);
  // version [0] (not written for version 1), serial, algorithm, issuer, validity, subject
  return fields[fields[0]!.tag === 0xa0 ? 5 : 4]!;
}
