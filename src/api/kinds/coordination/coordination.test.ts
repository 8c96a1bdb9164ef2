/** The kinds of coordination.k8s.io. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Lease } from "#api/generated/coordination.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { leaseCandidateV1Alpha2Kind, leaseCandidateV1Beta1Kind } from "./lease-candidate.ts";
import { compareSemanticVersions, parseSemanticVersion } from "./semantic-version.ts";
import { leaseKind } from "./v1/lease.ts";

describe("leases", () => {
  test("fields of coordinated elections are dropped", () => {
    const { object } = runKind(leaseKind, {
      object: { spec: { strategy: "x", preferredHolder: "h", holderIdentity: "i" } },
    });
    assert.deepEqual((object as Lease).spec, { holderIdentity: "i" });
  });

  test("durations and counts", () => {
    assert.deepEqual(
      runKind(leaseKind, { object: { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } } })
        .faults,
      [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
      ],
    );
  });

  test("what is in use is checked", () => {
    const old = { spec: { strategy: "a/b" } };
    assert.deepEqual(runKind(leaseKind, { object: { spec: { strategy: "x" } }, old }).faults, [
      'spec.strategy.strategy: Unsupported value: "x": supported values: "OldestEmulationVersion"',
    ]);
  });
});

describe("lease candidates", () => {
  const spec = {
    leaseName: "l",
    binaryVersion: "1.36.0",
    emulationVersion: "1.35.0",
    strategy: "OldestEmulationVersion",
  };
  const rows = [
    { name: "nothing wrong", spec, faults: [] },
    {
      name: "nothing given",
      spec: {},
      faults: [
        "spec.leaseName: Required value",
        "spec.binaryVersion: Required value",
        "spec.strategy: Required value",
      ],
    },
    {
      name: "an emulation of the future",
      spec: { ...spec, emulationVersion: "1.36.1" },
      faults: [
        'spec.binaryVersion: Invalid value: "1.36.0": must be greater than or equal to `emulationVersion`',
      ],
    },
    {
      name: "an emulation that cannot be read",
      spec: { ...spec, emulationVersion: "v1" },
      faults: [
        'spec.emulationVersion: Invalid value: "v1": must be a valid semantic version',
        "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(leaseCandidateV1Beta1Kind, { object: { spec } }).faults, faults);
    });
  }

  test("the alpha version is stored as the beta one", () => {
    const { object } = runKind(leaseCandidateV1Alpha2Kind, { object: { spec } });
    const { toStored, fromStored } = leaseCandidateV1Alpha2Kind.storedAs!;
    assert.equal(toStored(object).apiVersion, "coordination.k8s.io/v1beta1");
    assert.deepEqual(fromStored(toStored(object)), object);
  });
});

describe("Lease: semantic versions", () => {
  const ascending = [
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0",
    "1.0.1+build.7",
    "1.2.0",
    "10.0.0",
  ].map((text) => parseSemanticVersion(text)!);

  test("compareSemanticVersions orders pre-releases before releases", () => {
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        assert.equal(Math.sign(compareSemanticVersions(a, b)), Math.sign(i - j));
      }
    }
  });

  for (const text of ["1", "1.2", "01.0.0", "v1.0.0", "1.0.0-", "1.0.0-01", "1.0.0+"]) {
    test(`${text} is none`, () => assert.equal(parseSemanticVersion(text), undefined));
  }
});
