/** What a node must say when it asks for a pod's certificate. */
import type { PodCertificateRequestSpec } from "#api/generated/certificates.v1beta1.ts";
import type { RuleContext } from "#api/kind.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  invalid,
  OMITTED,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { isDns1123Subdomain, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { bytesOfBase64 } from "#lib/der/pem.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { isKubernetesSigner, validateSignerName } from "../signer-name.ts";
import { type PublicKeyFacts, readCertificateRequest, readPublicKey } from "../x509.ts";

const UID_BYTES_MAX = 128;
const KEY_BYTES_MAX = 10 * 1024;
const ANNOTATIONS_BYTES_MAX = 256 * 1024;
const EXPIRATION_SECONDS_MIN = 60 * 60;
const EXPIRATION_SECONDS_MAX = 91 * 24 * 60 * 60;
const KUBERNETES_EXPIRATION_SECONDS_MAX = 24 * 60 * 60;

/** The longest life that a signer may be asked for. */
export function expirationSecondsMax(signerName: string): number {
  return isKubernetesSigner(signerName)
    ? KUBERNETES_EXPIRATION_SECONDS_MAX
    : EXPIRATION_SECONDS_MAX;
}
const SPEC = Path.of("spec");

export function validatePodRequest(
  spec: PodCertificateRequestSpec,
  context: RuleContext,
): FieldError[] {
  const errors = [
    ...validateSignerName(spec.signerName, SPEC.child("signerName")),
    ...validateUserAnnotations(
      spec.unverifiedUserAnnotations,
      SPEC.child("unverifiedUserAnnotations"),
    ),
    ...validateIdentity(spec, "podName", "podUID"),
    ...validateIdentity(spec, "serviceAccountName", "serviceAccountUID"),
    ...validateIdentity(spec, "nodeName", "nodeUID"),
  ];
  const { maxExpirationSeconds: expiration, signerName } = spec;
  const expirationPath = SPEC.child("maxExpirationSeconds");
  if (expiration === undefined) return [...errors, required(expirationPath, "must be set")];
  const max = expirationSecondsMax(signerName);
  if (expiration < EXPIRATION_SECONDS_MIN || expiration > max) {
    const detail = `must be in the range [${EXPIRATION_SECONDS_MIN}, ${max}]`;
    errors.push(invalid(expirationPath, expiration, detail));
  }
  return [...errors, ...validateKey(spec, context)];
}

function validateIdentity(
  spec: PodCertificateRequestSpec,
  nameField: "podName" | "serviceAccountName" | "nodeName",
  uidField: "podUID" | "serviceAccountUID" | "nodeUID",
): FieldError[] {
  const name = spec[nameField];
  const uid = spec[uidField];
  const errors = [...invalidEach(SPEC.child(nameField), name, isDns1123Subdomain(name))];
  if (uid === "") errors.push(invalid(SPEC.child(uidField), uid, "must not be empty"));
  if (utf8Length(uid) > UID_BYTES_MAX) {
    errors.push(tooLong(SPEC.child(uidField), UID_BYTES_MAX));
  }
  return errors;
}

export function validateUserAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    errors.push(...validateDomainPrefixedKey(key.toLowerCase(), path));
    bytes += utf8Length(key) + utf8Length(value);
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) errors.push(tooLong(path, ANNOTATIONS_BYTES_MAX));
  return errors;
}

function validateDomainPrefixedKey(key: string, path: Path): readonly FieldError[] {
  if (key === "") return [required(path, "")];
  const faults = isQualifiedName(key);
  if (faults.length > 0) return invalidEach(path, key, faults);
  if (key.includes("/")) return [];
  return [invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')];
}

/** Either a request signed with the key, or the key and a signature over the pod's uid. */
function validateKey(spec: PodCertificateRequestSpec, context: RuleContext): FieldError[] {
  const request = spec.stubPKCS10Request ?? "";
  const key = spec.pkixPublicKey ?? "";
  const proof = spec.proofOfPossession ?? "";
  if (request !== "" && key === "" && proof === "") return validateStubRequest(request, context);
  if (request === "" && key !== "" && proof !== "") {
    return validateProof(key, proof, spec.podUID, context);
  }
  const detail =
    "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
  return [invalid(SPEC, OMITTED, detail)];
}

function validateStubRequest(base64: string, { signatures }: RuleContext): FieldError[] {
  const path = SPEC.child("stubPKCS10Request");
  const der = bytesOfBase64(base64);
  if (der.length > KEY_BYTES_MAX) return [tooLong(path, KEY_BYTES_MAX)];
  const request = readCertificateRequest(der);
  if ("fault" in request) return [invalid(path, OMITTED, "must be a valid PKCS#10 CSR")];
  const curves = "elliptic public keys must use curve P256, P384, or P521";
  const errors = validateKeyStrength(request.publicKey, curves, OMITTED, path);
  if (errors.length > 0 || signatures?.request(der) === undefined) return errors;
  return [invalid(path, OMITTED, "invalid signature")];
}

function validateProof(
  keyBase64: string,
  proofBase64: string,
  podUid: string,
  { signatures }: RuleContext,
): FieldError[] {
  const keyPath = SPEC.child("pkixPublicKey");
  const proofPath = SPEC.child("proofOfPossession");
  const key = bytesOfBase64(keyBase64);
  const proof = bytesOfBase64(proofBase64);
  if (key.length > KEY_BYTES_MAX) return [tooLong(keyPath, KEY_BYTES_MAX)];
  if (proof.length > KEY_BYTES_MAX) return [tooLong(proofPath, KEY_BYTES_MAX)];
  const facts = readPublicKey(key);
  if (facts === undefined) {
    return [invalid(keyPath, keyBase64, "must be a valid PKIX-serialized public key")];
  }
  const curves = "elliptic public keys must use curve P256 or P384";
  const errors = validateKeyStrength(facts, curves, keyBase64, keyPath);
  if (errors.length > 0) return errors;
  const fault = signatures?.proof(key, new TextEncoder().encode(podUid), proof);
  if (fault === undefined) return [];
  return [invalid(proofPath, OMITTED, "could not verify proof-of-possession signature")];
}

function validateKeyStrength(
  { algorithm, curve, modulusBits }: PublicKeyFacts,
  curveFault: string,
  unknownValue: unknown,
  path: Path,
): FieldError[] {
  switch (algorithm) {
    case "Ed25519":
      return [];
    case "ECDSA":
      if (curve !== "P-224") return [];
      return [invalid(path, `curve ${curve}`, curveFault)];
    case "RSA":
      if (modulusBits === 3072 || modulusBits === 4096) return [];
      return [
        invalid(path, `${modulusBits}-bit modulus`, "RSA keys must have modulus size 3072 or 4096"),
      ];
    case "unknown": {
      const detail = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
      return [invalid(path, unknownValue, detail)];
    }
  }
}
