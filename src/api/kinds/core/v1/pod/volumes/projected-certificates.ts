/** Trust bundles and certificates of pods as sources of projected volumes. */
import type {
  ClusterTrustBundleProjection,
  PodCertificateProjection,
} from "#api/generated/core.v1.ts";
import { validateSignerName } from "#api/kinds/certificates/signer-name.ts";
import { trustBundleNameFaults } from "#api/kinds/certificates/v1beta1/cluster-trust-bundle.ts";
import {
  expirationSecondsMax,
  validateUserAnnotations,
} from "#api/kinds/certificates/v1beta1/pod-request-spec.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";
import { validateLocalPath } from "./local-path.ts";

const KEY_TYPES = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const EXPIRATION_SECONDS_MIN = 3_600;

/** Takes a path in the volume, which another source may have taken before. */
type TakePath = (file: string) => void;

export function validateTrustBundleSource(
  source: ClusterTrustBundleProjection,
  take: TakePath,
  path: Path,
  errors: FieldError[],
): void {
  const { name, signerName, labelSelector, path: file } = source;
  if (name !== undefined && signerName !== undefined) {
    errors.push(invalid(path, source, "only one of name and signerName may be used"));
  } else if (name !== undefined) {
    validateBundleName(name, path.child("name"), errors);
    if (labelSelector !== undefined) {
      const detail = "labelSelector must be unset if name is specified";
      errors.push(invalid(path.child("labelSelector"), labelSelector, detail));
    }
  } else if (signerName !== undefined) {
    const at = path.child("signerName");
    if (signerName === "") errors.push(required(at, "must be a valid signer name"));
    errors.push(...validateSignerName(signerName, at));
    errors.push(...validateLabelSelector(labelSelector, {}, path.child("labelSelector")));
  } else {
    errors.push(required(path, "either name or signerName must be specified"));
  }
  if (file === "") errors.push(required(path.child("path"), ""));
  validateLocalPath(file, path.child("path"), errors);
  take(file);
}

/** `example.com:signer:name` belongs to the signer `example.com/signer`. */
function validateBundleName(name: string, path: Path, errors: FieldError[]): void {
  if (name === "") errors.push(required(path, "must be a valid object name"));
  const last = name.lastIndexOf(":");
  const signerName = last < 0 ? "" : name.slice(0, last).replace(":", "/");
  for (const fault of trustBundleNameFaults(name, false, signerName)) {
    errors.push(invalid(path, name, `not a valid clustertrustbundlename: ${fault}`));
  }
}

export function validateCertificateSource(
  source: PodCertificateProjection,
  take: TakePath,
  path: Path,
  errors: FieldError[],
): void {
  const { signerName = "", keyType = "", maxExpirationSeconds: seconds, userAnnotations } = source;
  errors.push(...validateSignerName(signerName, path.child("signerName")));
  errors.push(...validateUserAnnotations(userAnnotations, path.child("userAnnotations")));
  if (!KEY_TYPES.includes(keyType)) {
    errors.push(notSupported(path.child("keyType"), keyType, KEY_TYPES));
  }
  const expirationPath = path.child("maxExpirationSeconds");
  const max = expirationSecondsMax(signerName);
  if (seconds !== undefined && seconds < EXPIRATION_SECONDS_MIN) {
    const detail = "if provided, maxExpirationSeconds must be >= 3600";
    errors.push(invalid(expirationPath, seconds, detail));
  }
  if (seconds !== undefined && seconds > max) {
    const detail = `if provided, maxExpirationSeconds must be <= ${max}`;
    errors.push(invalid(expirationPath, seconds, detail));
  }
  const fields = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  for (const field of fields) {
    const file = source[field];
    if (!file) continue;
    validateLocalPath(file, path.child(field), errors);
    take(file);
  }
  if (fields.some((field) => source[field])) return;
  const detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
  errors.push(required(path, detail));
}
