import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { DEFAULT_KUBELET_CONFIG } from "#kubelet/kubelet-config.ts";
import { checkKubeletConfig } from "./check-kubelet-config.ts";
import { configurationDocument } from "./configuration-document.ts";
import { readKubeletConfiguration } from "./kubelet-configuration.ts";

const HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "k8ts-kubelet-"));
});
afterAll(() => rm(folder, { recursive: true }));

const refused = [
  {
    text: `${HEAD}maxPods: "x"\n`,
    says: "failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
  },
  {
    text: `${HEAD}fileCheckFrequency: 5\n`,
    says: "failed to decode: json: cannot unmarshal number into Go struct field KubeletConfiguration.fileCheckFrequency of type string",
  },
  {
    text: "kind: Foo\n",
    says: "failed to decode: Object 'apiVersion' is missing in 'kind: Foo\n'",
  },
];

for (const { text, says } of refused) {
  test(`KubeletConfiguration is refused: ${says}`, async () => {
    const path = join(folder, "refused.yaml");
    await writeFile(path, text);
    await assert.rejects(readKubeletConfiguration(path, ""), {
      message: `failed to load kubelet config file, path: ${path}, error: failed to load Kubelet config file ${path}, error ${says}`,
    });
  });
}

test("KubeletConfiguration: unknown fields are warnings, as in upstream's kubelet", async () => {
  const path = join(folder, "unknown.yaml");
  await writeFile(path, `${HEAD}maxPod: 3\nmaxPods: 7\nauthentication: {foo: 1}\n`);
  const { values, warnings } = await readKubeletConfiguration(path, "");
  assert.deepEqual(values, { maxPods: 7 });
  assert.deepEqual(warnings, [
    'strict decoding error: unknown field "authentication.foo", unknown field "maxPod"',
  ]);
});

test("KubeletConfiguration: fields without effect are named, unknown feature gates are refused", async () => {
  const path = join(folder, "effect.yaml");
  await writeFile(
    path,
    `${HEAD}kubeAPIQPS: 7\nsyncFrequency: 1m\nreadOnlyPort: 10255\nmaxPods: 3\n`,
  );
  const { withoutEffect } = await readKubeletConfiguration(path, "");
  assert.deepEqual(withoutEffect, ["kubeAPIQPS", "readOnlyPort"]);
  await writeFile(path, `${HEAD}featureGates: {NoSuchGate: true}\n`);
  await assert.rejects(
    readKubeletConfiguration(path, ""),
    /unrecognized feature gate: NoSuchGate$/,
  );
});

test("KubeletConfiguration: defaults that depend on other fields", async () => {
  const path = join(folder, "dependent.yaml");
  const merged = "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}\n";
  await writeFile(path, `${HEAD}nodeStatusUpdateFrequency: 20s\n${merged}`);
  const { values } = await readKubeletConfiguration(path, "");
  assert.equal(values.nodeStatusReportMs, 20_000);
  assert.equal(values.evictionHard?.["memory.available"], "1Gi");
  assert.equal(values.evictionHard?.["nodefs.available"], "10%");
});

test("--config-dir: files that end in .conf are laid over --config in the order of their names", async () => {
  const path = join(folder, "base.yaml");
  const dropIns = join(folder, "kubelet.conf.d");
  await mkdir(dropIns);
  await writeFile(path, `${HEAD}maxPods: 1\nclusterDomain: base\nimageMinimumGCAge: 5m\n`);
  await writeFile(join(dropIns, "20-b.conf"), `${HEAD}maxPods: 3\n`);
  await writeFile(join(dropIns, "10-a.conf"), `${HEAD}maxPods: 2\nclusterDomain: a\n`);
  await writeFile(join(dropIns, "30-c.yaml"), `${HEAD}maxPods: 4\n`);
  const { values } = await readKubeletConfiguration(path, dropIns);
  assert.deepEqual(values, { maxPods: 3, clusterDomain: "a", imageMinimumGcAgeMs: 300_000 });
  const config = { ...DEFAULT_KUBELET_CONFIG, ...values, nodeName: "n" };
  const shown: Record<string, unknown> = { ...configurationDocument(config) };
  assert.deepEqual(
    [shown.kind, shown.maxPods, shown.imageMinimumGCAge, shown.imageGCHighThresholdPercent],
    ["KubeletConfiguration", 3, "5m0s", 85],
  );
});

test("KubeletConfiguration: values that contradict each other are refused in upstream's words", () => {
  const config = {
    ...{ ...DEFAULT_KUBELET_CONFIG, nodeName: "n", imageGcHighPercent: 50, imageGcLowPercent: 60 },
    ...{ containerLogMaxFiles: 1, shutdownGraceMs: 10_000, shutdownGraceCriticalMs: 20_000 },
    topologyManagerPolicy: "bar",
  };
  assert.deepEqual(checkKubeletConfig(config), [
    "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 60 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 50",
    'invalid configuration: topologyManagerPolicy (--topology-manager-policy) "bar" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
    "invalid configuration: shutdownGracePeriodCriticalPods {20s} must be <= shutdownGracePeriod {10s}",
    "invalid configuration: containerLogMaxFiles must be greater than 1",
  ]);
  assert.deepEqual(checkKubeletConfig({ ...DEFAULT_KUBELET_CONFIG, nodeName: "n" }), []);
});
