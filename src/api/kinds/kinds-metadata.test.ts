/** How often each kind reports an error in metadata: the server checks it once, and most kinds again. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { normalize } from "#api/codec/json.ts";
import { type FieldErrors, fieldErrorSteps } from "#api/validation/field-errors.ts";
import { finish } from "#lib/async/steps.ts";
import type { Kind, KubeObject } from "../kind.ts";
import { objectOf } from "../members.ts";
import { builtInKinds } from "./built-in-kinds.ts";

/** Faults of a kind's own hooks: [odd finalizer on create, odd label on update, on status writes]. */
const rows: Readonly<Record<string, readonly [number, number, number?]>> = {
  "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy": [0, 1],
  "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding": [0, 1],
  "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": [0, 1],
  "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy": [0, 1, 0],
  "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": [0, 1],
  "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": [0, 1],
  "apiextensions.k8s.io/v1 CustomResourceDefinition": [0, 1, 1],
  "apiregistration.k8s.io/v1 APIService": [0, 2, 1],
  "certificates.k8s.io/v1 CertificateSigningRequest": [1, 2, 2],
  "certificates.k8s.io/v1beta1 ClusterTrustBundle": [1, 2],
  "certificates.k8s.io/v1beta1 PodCertificateRequest": [1, 1, 1],
  "coordination.k8s.io/v1 Lease": [0, 1],
  "flowcontrol.apiserver.k8s.io/v1 FlowSchema": [1, 1, 0],
  "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration": [1, 1, 0],
  "networking.k8s.io/v1 IPAddress": [1, 2],
  "networking.k8s.io/v1 Ingress": [1, 2, 1],
  "networking.k8s.io/v1 IngressClass": [1, 2],
  "networking.k8s.io/v1 NetworkPolicy": [1, 1],
  "networking.k8s.io/v1 ServiceCIDR": [1, 1, 1],
  "policy/v1 PodDisruptionBudget": [0, 0, 0],
  "rbac.authorization.k8s.io/v1 ClusterRole": [1, 2],
  "rbac.authorization.k8s.io/v1 ClusterRoleBinding": [1, 2],
  "rbac.authorization.k8s.io/v1 Role": [1, 2],
  "rbac.authorization.k8s.io/v1 RoleBinding": [1, 2],
  "resource.k8s.io/v1 DeviceClass": [1, 2],
  "resource.k8s.io/v1 ResourceClaim": [1, 2, 1],
  "resource.k8s.io/v1 ResourceClaimTemplate": [1, 2],
  "resource.k8s.io/v1 ResourceSlice": [1, 1],
  "resource.k8s.io/v1alpha3 DeviceTaintRule": [1, 1, 1],
  "storagemigration.k8s.io/v1beta1 StorageVersionMigration": [1, 2, 1],
};

describe("kinds-metadata: faults in metadata", () => {
  const context = { nowMs: 0, requestName: "x" };
  for (const [name, [onCreate, onUpdate, onStatus]] of Object.entries(rows)) {
    test(name, () => {
      const kind = builtInKinds.find(
        ({ apiVersion, names }) => name === `${apiVersion} ${names.kind}`,
      )!;
      const odd = withMetadata(kind, { finalizers: ["odd"], labels: { a: "-" } });
      const old = withMetadata(kind, {});
      const countOf = (field: string, errors: FieldErrors | undefined) =>
        finish(fieldErrorSteps(errors)).filter((error) => error.field === field).length;
      const { status } = kind.subresources ?? {};
      assert.deepEqual(
        [
          countOf("metadata.finalizers[0]", kind.validate?.(odd, context)),
          countOf("metadata.labels", kind.validateUpdate?.(odd, old, context)),
          ...(status === undefined
            ? []
            : [countOf("metadata.labels", status.validateUpdate?.(odd, old, context))]),
        ],
        [onCreate, onUpdate, ...(onStatus === undefined ? [] : [onStatus])],
      );
    });
  }
});

function withMetadata(kind: Kind, metadata: object): KubeObject {
  const decoded = normalize(kind.schema(), {
    metadata: { name: "x", resourceVersion: "1", ...metadata },
  });
  assert.ok(decoded.ok);
  return objectOf(decoded.value);
}
