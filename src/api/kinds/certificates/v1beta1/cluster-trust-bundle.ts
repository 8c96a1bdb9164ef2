/** certificates.k8s.io ClusterTrustBundle: certificate authorities that a cluster trusts. */

import { NONE, nameColumn } from "#api/columns.ts";
import type { ClusterTrustBundle } from "#api/generated/certificates.v1beta1.ts";
import { defineKind, type KindSpec, type NameRule } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, tooLong } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { parsePem } from "#lib/der/pem.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateSignerName } from "../signer-name.ts";
import { readCertificate } from "../x509.ts";

const BUNDLE_BYTES_MAX = 1024 * 1024;
const OMITTED = "<value omitted>";

const spec: KindSpec<ClusterTrustBundle> = {
  group: "certificates.k8s.io",
  version: "v1beta1",
  names: { kind: "ClusterTrustBundle", plural: "clustertrustbundles" },
  scope: "Cluster",
  schema: builtInSchema("certificates.v1beta1.ClusterTrustBundle"),
  nameRule: (name, prefix, bundle) =>
    bundle === undefined ? [] : trustBundleNameFaults(name, prefix, bundle.spec.signerName ?? ""),
  validate: (bundle) => [...validateFinalizers(bundle.metadata), ...validateBundle(bundle, true)],
  validateUpdate: (bundle, old) => [
    ...validateKubeMeta(bundle.metadata, { namespaced: false, nameRule: nameRuleOf(bundle) }),
    ...validateBundle(bundle, bundle.spec.trustBundle !== old.spec.trustBundle),
    ...validateKubeMetaUpdate(bundle, old),
    ...validateImmutableField(
      bundle.spec.signerName ?? "",
      old.spec.signerName ?? "",
      Path.of("spec", "signerName"),
    ),
  ],
  selectableFields: ({ spec }) => ({ "spec.signerName": spec.signerName ?? "" }),
  columns: [
    nameColumn,
    {
      name: "SignerName",
      type: "string",
      describedBy: "certificates.v1beta1.ClusterTrustBundleSpec.signerName",
      cell: ({ spec }) => spec.signerName ?? NONE,
    },
  ],
};

export const clusterTrustBundleV1beta1Kind = defineKind(spec);
export const clusterTrustBundleV1alpha1Kind = alsoServedAs(
  spec,
  "v1alpha1",
  "certificates.v1alpha1.ClusterTrustBundle",
  {
    deprecation:
      "certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+",
  },
);

function nameRuleOf({ spec }: ClusterTrustBundle): NameRule {
  return (name, prefix) => trustBundleNameFaults(name, prefix, spec.signerName ?? "");
}

function validateBundle({ spec }: ClusterTrustBundle, readBundle: boolean): FieldError[] {
  const { signerName = "", trustBundle } = spec;
  const errors: FieldError[] = [];
  if (signerName !== "") {
    errors.push(...validateSignerName(signerName, Path.of("spec", "signerName")));
  }
  if (readBundle) errors.push(...validateTrustBundle(trustBundle));
  return errors;
}

export function trustBundleNameFaults(
  name: string,
  prefix: boolean,
  signerName: string,
): readonly string[] {
  if (signerName === "") {
    if (name.includes(":")) {
      return ['ClusterTrustBundle without signer name must not have ":" in its name'];
    }
    return nameIsDnsSubdomain(name, prefix);
  }
  const start = `${signerName.replaceAll("/", ":")}:`;
  if (!name.startsWith(start)) {
    return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${start}`];
  }
  return nameIsDnsSubdomain(name.slice(start.length), prefix);
}

function validateTrustBundle(text: string): FieldError[] {
  const path = Path.of("spec", "trustBundle");
  if (utf8Length(text) > BUNDLE_BYTES_MAX) return [tooLong(path, BUNDLE_BYTES_MAX)];
  const blocks = parsePem(text);
  const errors: FieldError[] = [];
  const indexes = new Map<string, number[]>();
  for (const [i, { type, headers, bytes }] of blocks.entries()) {
    const fault = anchorFault(type, headers, bytes);
    if (fault !== undefined) errors.push(invalid(path, OMITTED, `entry ${i} ${fault}`));
    const key = bytes.join(",");
    indexes.set(key, [...(indexes.get(key) ?? []), i]);
  }
  if (errors.length > 0) return errors;
  if (blocks.length === 0) {
    return [invalid(path, OMITTED, "at least one trust anchor must be provided")];
  }
  return [...indexes.values()]
    .filter((same) => same.length > 1)
    .map((same) => invalid(path, OMITTED, `duplicate trust anchor (indices [${same.join(" ")}])`));
}

function anchorFault(
  type: string,
  headers: Readonly<Record<string, string>>,
  der: Uint8Array,
): string | undefined {
  if (type !== "CERTIFICATE") return `has bad block type: ${type}`;
  if (Object.keys(headers).length > 0) return "has PEM block headers";
  const certificate = readCertificate(der);
  if (certificate === undefined) return "does not parse as X.509";
  return certificate.isCa ? undefined : "does not have the CA bit set";
}
