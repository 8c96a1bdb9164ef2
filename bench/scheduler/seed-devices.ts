/** Devices on every node and a template of claims for one of them, as in scheduler_perf. */
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimTemplateKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import type { SchedulingBench } from "./scheduling-cluster.ts";
import { CLAIM_TEMPLATE } from "./workloads.ts";

const DRIVER = "test-driver.cdi.k8s.io";
const CLASS = "test-class";

export async function seedDevices(
  bench: SchedulingBench,
  nodes: number,
  devicesPerNode: number,
): Promise<void> {
  const expression = `device.driver == "${DRIVER}"`;
  await bench.seed(deviceClassKind, [
    { metadata: { name: CLASS }, spec: { selectors: [{ cel: { expression } }] } },
  ]);
  const requests = [{ name: "req-0", exactly: { deviceClassName: CLASS } }];
  await bench.seed(resourceClaimTemplateKind, [
    {
      metadata: { name: CLAIM_TEMPLATE, namespace: "default" },
      spec: { spec: { devices: { requests } } },
    },
  ]);
  await bench.seed(
    resourceSliceKind,
    Array.from({ length: nodes }, (_, index) => ({
      metadata: { name: `slice-${index}` },
      spec: {
        driver: DRIVER,
        nodeName: `node-${index}`,
        pool: { name: `node-${index}`, generation: 1, resourceSliceCount: 1 },
        devices: Array.from({ length: devicesPerNode }, (_, device) => deviceOf(device)),
      },
    })),
  );
}

function deviceOf(index: number) {
  return {
    name: `instance-${index}`,
    attributes: {
      model: { string: "A100" },
      family: { string: "GPU" },
      driverVersion: { version: "1.2.3" },
      "dra.example.com/numa": { int: index },
    },
    capacity: { memory: { value: "1Gi" } },
  };
}
