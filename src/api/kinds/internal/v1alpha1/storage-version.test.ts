import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { storageVersionKind as kind } from "./storage-version.ts";

const metadata = { name: "apps.deployments" };
const statusWrite = (status: object) => ({
  object: { metadata, spec: {}, status },
  old: { metadata, spec: {} },
  subresource: "status",
});
const server = (apiServerID: string, encodingVersion = "v1") => ({
  apiServerID,
  encodingVersion,
  decodableVersions: [encodingVersion],
});

describe("StorageVersion", () => {
  const names = [
    { name: "apps.deployments", faults: [] },
    { name: "deployments", faults: ["name must be in the form of <group>.<resource>"] },
  ];
  for (const { name, faults } of names) {
    test(`the name ${name}`, () =>
      assert.deepEqual(
        runKind(kind, { object: { metadata: { name }, spec: {} } }).faults,
        faults.map((fault) => `metadata.name: Invalid value: "${name}": ${fault}`),
      ));
  }

  const AGREE =
    "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
  const rows = [
    {
      name: "a server twice",
      status: { storageVersions: [server("a"), server("a")], commonEncodingVersion: "v1" },
      faults: ['status.storageVersions[1].apiServerID: Duplicate value: "a"'],
    },
    {
      name: "a version that the server cannot read",
      status: {
        storageVersions: [
          {
            apiServerID: "a",
            encodingVersion: "v1",
            decodableVersions: ["v2"],
            servedVersions: ["v3"],
          },
        ],
        commonEncodingVersion: "v1",
      },
      faults: [
        'status.storageVersions[0].decodableVersions: Invalid value: ["v2"]: decodableVersions must include encodingVersion v1',
        'status.storageVersions[0].servedVersions[0]: Invalid value: "v3": individual served version : v3 must be included in decodableVersions : [v2]',
      ],
    },
    {
      name: "agreement that is not there",
      status: {
        storageVersions: [server("a", "v1"), server("b", "v2")],
        commonEncodingVersion: "v1",
      },
      faults: [`status.commonEncodingVersion: Invalid value: "v1": ${AGREE}`],
    },
    {
      name: "agreement that is not said",
      status: { storageVersions: [server("a"), server("b")] },
      faults: [
        "status.commonEncodingVersion: Invalid value: null: the common encoding version is v1",
      ],
    },
    {
      name: "a version without its group's name",
      status: { storageVersions: [server("a", "/v1")], commonEncodingVersion: "/v1" },
      faults: [
        'status.storageVersions[0].encodingVersion: Invalid value: "/v1": group part: must be non-empty',
        'status.storageVersions[0].decodableVersions[0]: Invalid value: "/v1": group part: must be non-empty',
      ],
    },
    {
      name: "conditions that say too little, or twice",
      status: {
        conditions: ["A", "A"].map((type) => ({
          type,
          status: "True",
          lastTransitionTime: null,
          reason: "",
          message: "m",
        })),
      },
      faults: [
        "status[0].reason: Required value",
        'status[1].type: Invalid value: "A": the type of the condition is not unique, it also appears in conditions[0]',
        "status[1].reason: Required value",
      ],
    },
  ];
  for (const { name, status, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(kind, statusWrite(status)).faults, faults));
  }

  test("the columns show the common encoding version and three servers", () => {
    const ids = ["a", "b", "c", "d"];
    const outcome = runKind(
      kind,
      statusWrite({ storageVersions: ids.map((id) => server(id)), commonEncodingVersion: "v1" }),
    );
    assert.deepEqual(cellsOf(kind, outcome).slice(1, 3), ["v1", "a=v1,b=v1,c=v1 + 1 more..."]);
    const none = runKind(kind, { object: { metadata, spec: {} } });
    assert.deepEqual(cellsOf(kind, none).slice(1, 3), ["<unset>", "<unset>"]);
  });
});
