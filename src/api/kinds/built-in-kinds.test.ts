/** What must hold for the registry of kinds as a whole. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { builtInKinds, findByKind } from "./built-in-kinds.ts";

const nameOf = ({ apiVersion, names }: (typeof builtInKinds)[number]) =>
  `${apiVersion} ${names.kind}`;

describe("built-in kinds", () => {
  for (const key of ["kind", "plural", "list"] as const) {
    test(`no two of a version share their ${key}`, () => {
      const all = builtInKinds.map(({ apiVersion, names }) => `${apiVersion}/${names[key]}`);
      assert.deepEqual(
        all.filter((name, i) => all.indexOf(name) < i),
        [],
      );
    });
  }

  for (const kind of builtInKinds) {
    test(`${nameOf(kind)} has a type, and objects of it a place to be stored`, () => {
      const fields = kind.schema().fields.map(({ name }) => name);
      assert.ok(fields.includes("metadata"), kind.schema().name);
      const stored =
        kind.storedAs === undefined
          ? kind
          : findByKind(kind.storedAs.group, kind.storedAs.version, kind.names.kind);
      assert.equal(stored?.storedAs, undefined);
      assert.deepEqual(stored?.names, kind.names);
      assert.equal(stored?.scope, kind.scope);
      assert.deepEqual(
        Object.keys(stored?.subresources ?? {}).sort(),
        Object.keys(kind.subresources ?? {}).sort(),
      );
    });
  }

  test("kinds on their way out say when they go", () => {
    const gone = (since: number, until: number, ...kinds: string[]) =>
      kinds.map((kind) => `${kind} is deprecated in v1.${since}+, unavailable in v1.${until}+`);
    const claims = (version: string) =>
      ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"].map(
        (kind) => `resource.k8s.io/${version} ${kind}`,
      );
    const attributes = gone(34, 37, "storage.k8s.io/v1beta1 VolumeAttributesClass");
    assert.deepEqual(
      builtInKinds.flatMap(({ deprecation }) => deprecation ?? []).sort(),
      [
        "v1 ComponentStatus is deprecated in v1.19+",
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        `${attributes}; use storage.k8s.io/v1 VolumeAttributesClass`,
        ...gone(35, 38, ...claims("v1beta1")),
        ...gone(36, 39, ...claims("v1beta2"), "resource.k8s.io/v1alpha3 DeviceTaintRule"),
        ...gone(35, 38, "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy"),
        ...gone(35, 38, "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding"),
        ...gone(34, 37, "certificates.k8s.io/v1alpha1 ClusterTrustBundle"),
        ...gone(35, 38, "coordination.k8s.io/v1alpha2 LeaseCandidate"),
        ...gone(36, 39, "coordination.k8s.io/v1beta1 LeaseCandidate"),
        ...gone(34, 37, "networking.k8s.io/v1beta1 IPAddress"),
        ...gone(34, 37, "networking.k8s.io/v1beta1 ServiceCIDR"),
      ].sort(),
    );
  });
});
