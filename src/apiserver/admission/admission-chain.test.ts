import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { failure, forbiddenStatus, success } from "#api/meta/status.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createAdmissionMetrics } from "../metrics/admission-metrics.ts";
import type { Objects } from "../storage/objects.ts";
import { type Admission, createAdmission } from "./admission-chain.ts";
import { type AdmissionRequest, type Operation, targetOf } from "./admission-request.ts";
import { withMetadata } from "./changed-object.ts";
import type { AdmissionPlugin } from "./plugin.ts";

const NAME = "apiserver_admission_controller_admission_duration_seconds";

test("admission plug-ins are called for their operations only, and each call is timed", async () => {
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
      admit: () => failure(forbiddenStatus({ group: "", resource: "pods" }, "p", "no")),
    },
    { name: "After", admit: () => undefined, validate: () => undefined },
  ];
  const admission = createAdmission(plugins, {} as Objects, clock, createAdmissionMetrics(metrics));
  const ask = async (operation: Operation): Promise<number | undefined> => {
    const answer = admission.admit(requestOf(operation));
    await clock.advance(20);
    const admitted = await answer;
    return admitted.ok ? undefined : admitted.status.code;
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

test("mutating admission plug-ins: each sees the object that the one before returned, and none changes it", async () => {
  const seen: unknown[] = [];
  const label = (name: string, later: boolean): AdmissionPlugin => ({
    name,
    admit: ({ object }) => {
      seen.push(object?.metadata.labels);
      const labels = { ...object?.metadata.labels, [name]: "1" };
      const verdict = success(withMetadata(object!, { labels }));
      return later ? Promise.resolve(verdict) : verdict;
    },
  });
  const admission = admissionOf([label("a", false), label("b", true), label("c", false)]);
  const object = deepFreeze({ metadata: { name: "p" } });
  const admitted = await admission.admit(requestOf("CREATE", object));
  assert.deepEqual(seen, [undefined, { a: "1" }, { a: "1", b: "1" }]);
  assert.deepEqual(admitted.ok && admitted.value, {
    metadata: { name: "p", labels: { a: "1", b: "1", c: "1" } },
  });
});

test("admission reinvocation: a mutating plug-in that asks for it has all of them run once more, not twice", async () => {
  const passes: string[] = [];
  const plugins: AdmissionPlugin[] = [
    {
      name: "BuiltIn",
      admit: (_, { reinvocation }) => {
        passes.push(reinvocation === undefined ? "built-in" : "built-in again");
        return undefined;
      },
    },
    {
      name: "Webhooks",
      admit: async ({ object }, { reinvocation }) => {
        passes.push(`webhooks ${reinvocation?.get("Webhooks") ?? "first"}`);
        return { ok: true, value: object!, reinvoke: true, memory: "called a and b" };
      },
    },
  ];
  const admitted = await admissionOf(plugins).admit(requestOf("CREATE", { metadata: {} }));
  assert.equal(admitted.ok, true);
  const want = ["built-in", "webhooks first", "built-in again", "webhooks called a and b"];
  assert.deepEqual(passes, want);
});

function admissionOf(plugins: readonly AdmissionPlugin[]): Admission {
  const metrics = createAdmissionMetrics(new Metrics());
  return createAdmission(plugins, {} as Objects, new VirtualClock(), metrics);
}

function requestOf(operation: Operation, object?: KubeObject): AdmissionRequest {
  return {
    ...{ operation, kind: podKind, subresource: "", namespace: "default", name: "p" },
    ...{ stored: targetOf(podKind), requested: targetOf(podKind) },
    ...{ object, old: undefined, options: {}, dryRun: false },
    user: { name: "tester", groups: [] },
    client: new AbortController(),
    warn: () => undefined,
    annotate: undefined,
  };
}
