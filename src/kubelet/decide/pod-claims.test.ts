import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { build } from "#testing/build.ts";
import { containerCdiDevices, driversOf, podClaims, whyNotClaim } from "./pod-claims.ts";

const pod = build(podKind, {
  metadata: { name: "p", uid: "u1" },
  spec: {
    resourceClaims: [
      { name: "own", resourceClaimName: "shared" },
      { name: "made", resourceClaimTemplateName: "t" },
    ],
  },
  status: { resourceClaimStatuses: [{ name: "made", resourceClaimName: "p-made-x" }] },
});

test("resourceClaims: names come from the spec or from resourceClaimStatuses", () => {
  assert.deepEqual(podClaims(pod), [
    { name: "own", claimName: "shared" },
    { name: "made", claimName: "p-made-x" },
  ]);
  assert.throws(() => podClaims({ ...pod, status: {} }), /not created yet/);
});

test("ResourceClaim: a pod that is not in reservedFor may not use it", () => {
  const claim = (uid: string) =>
    build(resourceClaimKind, {
      metadata: { name: "c", uid: "c1" },
      status: {
        reservedFor: [{ resource: "pods", name: "p", uid }],
        allocation: { devices: { results: [{ driver: "d" }, { driver: "d" }, { driver: "e" }] } },
      },
    });
  assert.equal(
    whyNotClaim(pod, claim("u2")),
    "pod p (u1) is not allowed to use ResourceClaim c (c1)",
  );
  assert.equal(whyNotClaim(pod, claim("u1")), undefined);
  assert.deepEqual(driversOf(claim("u1")), ["d", "e"]);
});

test("CDI devices: a container gets those of the request that it names, or of the whole claim", () => {
  const devices = new Map([
    [
      "own",
      [
        { requestNames: ["gpu/large"], cdiDeviceIds: ["v.com/gpu=1"] },
        { requestNames: ["nic"], cdiDeviceIds: ["v.com/nic=1"] },
        { requestNames: [], cdiDeviceIds: ["v.com/all=1"] },
      ],
    ],
  ]);
  const of = (claims: { name: string; request?: string }[]) =>
    containerCdiDevices({ name: "c", resources: { claims } }, devices);
  assert.deepEqual(of([{ name: "own", request: "gpu" }]), ["v.com/gpu=1", "v.com/all=1"]);
  assert.deepEqual(of([{ name: "own" }]), ["v.com/gpu=1", "v.com/nic=1", "v.com/all=1"]);
  assert.deepEqual(of([]), []);
});
