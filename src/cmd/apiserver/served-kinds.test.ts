import assert from "node:assert/strict";
import { test } from "vitest";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { parseFlags } from "./flags/flags.ts";
import { isServed } from "./served-kinds.ts";

const MIGRATIONS = "storagemigration.k8s.io/v1beta1/storageversionmigrations";
const BUNDLES = "certificates.k8s.io/v1beta1/clustertrustbundles";
const WORKLOADS = "scheduling.k8s.io/v1alpha2/workloads";

const cases = [
  { name: "no flags: stable versions only", args: [], want: [] },
  {
    name: "--runtime-config without the feature gate: not served",
    args: ["--runtime-config=api/all=true"],
    want: [],
  },
  {
    name: "the feature gate without --runtime-config: not served",
    args: ["--feature-gates=StorageVersionMigrator=true,AllAlpha=true"],
    want: [],
  },
  {
    name: "StorageVersionMigration: feature gate and --runtime-config",
    args: [
      "--feature-gates=StorageVersionMigrator=true",
      "--runtime-config=storagemigration.k8s.io/v1beta1=true",
    ],
    want: [MIGRATIONS],
  },
  {
    name: "AllBeta and api/beta: all kinds in beta that have a gate",
    args: ["--feature-gates=AllBeta=true", "--runtime-config=api/beta=true"],
    want: [BUNDLES, MIGRATIONS],
  },
  {
    name: "AllAlpha and api/alpha: all kinds in alpha that have a gate",
    args: ["--feature-gates=AllAlpha=true", "--runtime-config=api/alpha=true"],
    want: [WORKLOADS],
  },
  {
    name: "api/all and both gates",
    args: ["--feature-gates=AllBeta=true,AllAlpha=true", "--runtime-config=api/all=true"],
    want: [BUNDLES, WORKLOADS, MIGRATIONS],
  },
];

for (const { name, args, want } of cases) {
  test(`kinds behind feature gates: ${name}`, () => {
    const flags = parseFlags(args);
    const served = builtInKinds
      .filter((kind) => isServed(flags, kind))
      .map((kind) => `${kind.apiVersion}/${kind.names.plural}`);
    const gated = [MIGRATIONS, BUNDLES, WORKLOADS];
    assert.deepEqual(served.filter((id) => gated.includes(id)).sort(), [...want].sort());
  });
}

test("kinds behind feature gates: those without a gate go by --runtime-config alone", () => {
  const flags = parseFlags(["--runtime-config=resource.k8s.io/v1alpha3=true,batch/v1=false"]);
  const served = new Set(
    builtInKinds.filter((kind) => isServed(flags, kind)).map((k) => k.apiVersion),
  );
  assert.ok(served.has("resource.k8s.io/v1alpha3"));
  assert.ok(!served.has("batch/v1"));
});
