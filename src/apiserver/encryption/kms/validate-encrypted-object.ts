/** What an envelope and the answers of a KMS plugin must look like, in upstream's words. */

import { validateFullyQualifiedDomainName } from "#api/validation/domain-names.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { aggregateText } from "../../config/aggregate-text.ts";
import { EncryptionError } from "../transformer.ts";
import { type EncryptedObject, SOURCE_TYPE } from "./kms-messages.ts";

const ANNOTATIONS_BYTES_MAX = 32 * 1024;
const KEY_ID_BYTES_MAX = 1024;
const SOURCE_BYTES_MAX = 1024;

/** Throws EncryptionError. */
export function checkEncryptedObject(object: EncryptedObject): void {
  const { data, encryptedSource, sourceType } = object;
  if (sourceType !== SOURCE_TYPE.aesGcmKey && sourceType !== SOURCE_TYPE.hkdfSeed) {
    throw new EncryptionError(`unknown encryptedDEKSourceType: ${sourceType}`);
  }
  if (data.length === 0) throw new EncryptionError("encrypted data is empty");
  const wrong = (what: string, why: string) =>
    new EncryptionError(`failed to validate ${what}: ${why}`);
  if (encryptedSource.length === 0) {
    throw wrong("encrypted DEK source", "encrypted DEK source is empty");
  }
  if (encryptedSource.length > SOURCE_BYTES_MAX) {
    const size = `${encryptedSource.length} bytes, which exceeds the max size of ${SOURCE_BYTES_MAX}`;
    throw wrong("encrypted DEK source", `encrypted DEK source is ${size}`);
  }
  const keyFault = keyIdFault(object.keyId);
  if (keyFault !== undefined) throw wrong("key id", keyFault.message);
  const faults = annotationFaults(object);
  if (faults.length > 0) throw wrong("annotations", aggregateText(faults));
}

export interface KeyIdFault {
  /** As the metric has it. */
  readonly code: "empty" | "too_long";
  readonly message: string;
}

export function keyIdFault(keyId: string): KeyIdFault | undefined {
  if (keyId === "") return { code: "empty", message: "keyID is empty" };
  const bytes = Buffer.byteLength(keyId);
  if (bytes <= KEY_ID_BYTES_MAX) return undefined;
  const message = `keyID is ${bytes} bytes, which exceeds the max size of ${KEY_ID_BYTES_MAX}`;
  return { code: "too_long", message };
}

function annotationFaults({ annotations }: EncryptedObject): string[] {
  const faults: string[] = [];
  let bytes = 0;
  for (const { key, value } of annotations) {
    const errors = validateFullyQualifiedDomainName(key, Path.of("annotations"));
    if (errors.length > 0) faults.push(formatFieldErrors(errors));
    bytes += Buffer.byteLength(key) + value.length;
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) {
    const max = `which exceeds the max size of ${ANNOTATIONS_BYTES_MAX}`;
    faults.push(`total size of annotations is ${bytes}, ${max}`);
  }
  return faults;
}
