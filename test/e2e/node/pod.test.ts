/** Pods on a real node: containerd, runc, CNI, cgroups; seen through kubectl. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster();
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("kubectl run: the pod becomes Running and Ready, and is gone after kubectl delete", async () => {
  await cluster.kubectl("run", "web", `--image=${BUSYBOX}`, "--image-pull-policy=Never");
  await isReady("web");
  const { status } = await cluster.pod("web");
  assert.match(status.podIP ?? "", /^10\.244\.0\./);
  await cluster.kubectl("delete", "pod", "web");
  assert.doesNotMatch(await cluster.kubectl("get", "pods", "-o", "name"), /web/);
}, 60_000);

async function isReady(name: string): Promise<void> {
  await until(async () => {
    const { status } = await cluster.pod(name);
    return status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
  }).catch(async (error) => {
    const told = await cluster.tryKubectl(["describe", "pod", name]);
    throw new Error(`${NODE}: ${told.stdout}\n${cluster.log().slice(-5_000)}`, { cause: error });
  });
}
