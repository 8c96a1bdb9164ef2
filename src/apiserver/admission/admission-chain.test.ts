import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { forbiddenStatus } from "#api/meta/status.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/virtual-clock.ts";
import { createAdmissionMetrics } from "../metrics/admission-metrics.ts";
import type { Objects } from "../storage/objects.ts";
import { createAdmission } from "./admission-chain.ts";
import { type AdmissionRequest, type Operation, targetOf } from "./admission-request.ts";
import type { AdmissionPlugin } from "./plugin.ts";

const NAME = "apiserver_admission_controller_admission_duration_seconds";

test("plug-ins are asked about their operations only, and each is timed", async () => {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const plugins: AdmissionPlugin[] = [
    { name: "Creates", operations: ["CREATE"], admit: () => undefined },
    {
      name: "Slow",
      admit: async () => {
        await clock.sleep(20);
        return undefined;
      },
    },
    {
      name: "Refuses",
      operations: ["DELETE"],
      admit: () => forbiddenStatus({ group: "", resource: "pods" }, "p", "no"),
    },
    { name: "After", admit: () => undefined, validate: () => undefined },
  ];
  const admission = createAdmission(plugins, {} as Objects, clock, createAdmissionMetrics(metrics));
  const ask = async (operation: Operation): Promise<number | undefined> => {
    const answer = admission.admit(requestOf(operation));
    await clock.advance(20);
    return (await answer)?.code;
  };
  assert.equal(await ask("CREATE"), undefined);
  assert.equal(await ask("DELETE"), 403);
  admission.validate(requestOf("CREATE"));

  const counts = metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(`${NAME}_count`));
  assert.deepEqual(counts.sort(), [
    `${NAME}_count{name="After",operation="CREATE",rejected="false",type="admit"} 1`,
    `${NAME}_count{name="After",operation="CREATE",rejected="false",type="validate"} 1`,
    `${NAME}_count{name="Creates",operation="CREATE",rejected="false",type="admit"} 1`,
    `${NAME}_count{name="Refuses",operation="DELETE",rejected="true",type="admit"} 1`,
    `${NAME}_count{name="Slow",operation="CREATE",rejected="false",type="admit"} 1`,
    `${NAME}_count{name="Slow",operation="DELETE",rejected="false",type="admit"} 1`,
  ]);
  const has = (line: string): void => assert.ok(metrics.text().includes(`${line}\n`), line);
  has(`${NAME}_sum{name="Slow",operation="CREATE",rejected="false",type="admit"} 0.02`);
  has(`${NAME}_sum{name="After",operation="CREATE",rejected="false",type="admit"} 0`);
  const step = "apiserver_admission_step_admission_duration_seconds";
  has(`${step}_sum{operation="DELETE",rejected="true",type="admit"} 0.02`);
  has(`${step}_summary{operation="CREATE",rejected="false",type="admit",quantile="0.99"} 0.02`);
});

function requestOf(operation: Operation): AdmissionRequest {
  return {
    ...{ operation, kind: podKind, subresource: "", namespace: "default", name: "p" },
    ...{ stored: targetOf(podKind), requested: targetOf(podKind) },
    ...{ object: undefined, old: undefined, options: {}, dryRun: false },
    user: { name: "tester", groups: [] },
    signal: new AbortController().signal,
    warn: () => undefined,
  };
}
