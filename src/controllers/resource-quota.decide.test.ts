import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ResourceQuotaSpec } from "#api/generated/core.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { measureOf } from "#api/quota/measures.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { type QuotaState, resourceQuotaController } from "./resource-quota.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");

function pod(name: string, cpu: string | undefined, phase = "Running"): KubeObject {
  const resources = cpu === undefined ? {} : { requests: { cpu }, limits: { cpu } };
  return build(podKind, {
    metadata: { name },
    spec: { containers: [{ name: "c", resources }] },
    status: { phase },
  });
}

const map = (name: string): KubeObject => build(configMapKind, { metadata: { name } });
const PODS = [pod("a", "500m"), pod("b", "1"), pod("idle", undefined), pod("done", "1", "Failed")];

const rows: {
  name: string;
  spec: ResourceQuotaSpec;
  // biome-ignore lint/suspicious/noExplicitAny: kinds of any type
  objects: readonly [KindOf<any>, readonly KubeObject[]][];
  used: Readonly<Record<string, string>> | undefined;
}[] = [
  {
    name: "pods that have ended use nothing",
    spec: { hard: { pods: "10", "requests.cpu": "4", "limits.cpu": "4" } },
    objects: [[podKind, PODS]],
    used: { pods: "3", "requests.cpu": "1500m", "limits.cpu": "1500m" },
  },
  {
    name: "count/pods counts pods that have ended, too",
    spec: { hard: { "count/pods": "10" } },
    objects: [[podKind, PODS]],
    used: { "count/pods": "4" },
  },
  {
    name: "a scope takes only its own",
    spec: { hard: { pods: "10" }, scopes: ["BestEffort"] },
    objects: [[podKind, PODS]],
    used: { pods: "1" },
  },
  {
    name: "other kinds are counted, by both names",
    spec: { hard: { configmaps: "1", "count/configmaps": "5" } },
    objects: [[configMapKind, [map("a"), map("b")]]],
    used: { configmaps: "2", "count/configmaps": "2" },
  },
  {
    name: "what nothing uses is zero",
    spec: { hard: { secrets: "1", "example.com/gpu": "2" } },
    objects: [],
    used: { secrets: "0", "example.com/gpu": "0" },
  },
];

describe("ResourceQuota status.used", () => {
  for (const { name, spec, objects, used } of rows) {
    test(name, () => {
      const quota = build(resourceQuotaKind, { metadata: { name: "q" }, spec });
      const outcome = resourceQuotaController().decide(stateOf(quota, objects), NOW_MS);
      const want = { writes: ["update ResourceQuota q/status"], recheckInMs: 300_000 };
      assert.deepEqual(describeOutcome(outcome), want);
      const next = written(outcome, resourceQuotaKind)!;
      assert.deepEqual(next.status, { hard: spec.hard, used });
      const again = resourceQuotaController().decide(stateOf(next, objects), NOW_MS);
      assert.deepEqual(describeOutcome(again), { writes: [], recheckInMs: 300_000 });
    });
  }
});

function stateOf(
  quota: QuotaState["quota"],
  // biome-ignore lint/suspicious/noExplicitAny: kinds of any type
  objects: readonly [KindOf<any>, readonly KubeObject[]][],
): QuotaState {
  const counted = objects.map(([kind, list]) => ({
    measure: measureOf(kind)!,
    objects: list,
  }));
  return { quota, counted };
}
