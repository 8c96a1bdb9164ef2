/**
 * What a write costs beyond its bytes: patches, server-side apply, and the tracking of who owns what,
 * which runs on every write. Beside bare JSON.parse + JSON.stringify of the same pod.
 */
import { applyPatch } from "#api/apply/apply.ts";
import { withManagedFields } from "#api/apply/managed-object.ts";
import { managedFieldsAfter } from "#api/apply/update.ts";
import { normalize } from "#api/codec/json.ts";
import { matchesLabels, parseSelector } from "#api/meta/label-selector.ts";
import { canonicalQuantity } from "#api/meta/quantity.ts";
import { applyJsonPatch } from "#api/patch/json-patch.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import { applyMergePatch } from "#api/patch/merge-patch.ts";
import { applyStrategicMergePatch } from "#api/patch/strategic-merge.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { BenchOptions, Row } from "./row.ts";
import { samplePod } from "./samples/pod.ts";

export const name = "api-patch";

const schema = schemaOf("core.v1.Pod");
/** The sample as a client sends it. */
const { status: _, ...created } = structuredClone<JsonObject>(samplePod);
const write = { schema, apiVersion: "v1", subresource: "", nowIso: "2030-01-01T00:00:00Z" };

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const timeMs = quick ? 100 : 700;
  const pod = normal(created);
  const tracked = managedFieldsAfter({ ...write, live: undefined, next: pod, manager: "kubectl" });
  const live = deepFreeze(normal(withManagedFields(pod, tracked)));
  const uidLive = deepFreeze(withUid(live));
  const text = JSON.stringify(uidLive);
  /** The limit is taken beside each figure, so that a busy machine slows both down. */
  const row = (what: string, target: number, work: () => unknown): Row => {
    const limit = microsOf(timeMs, () => JSON.stringify(JSON.parse(text)));
    const value = microsOf(timeMs, work);
    return { name: what, value, unit: "µs", limit, limitName: "JSON.parse + stringify", target };
  };
  const track = (live: JsonObject | undefined, next: JsonObject) => () =>
    managedFieldsAfter({ ...write, live, next, manager: "kubelet" });

  progress("tracking");
  const ready = deepFreeze(normal(withStatus(uidLive, "True")));
  yield row("track: nothing changed", 0.5, track(uidLive, normal(structuredClone(uidLive))));
  yield row("track: a status update", 1, track(ready, normal(withStatus(uidLive, "False"))));
  yield row("track: a create", 1, track(undefined, pod));

  progress("patches");
  const patch = { spec: { containers: [{ name: "web", image: "web:2" }] } };
  const merge = { metadata: { labels: { a: "b" } } };
  const operations = [{ op: "replace", path: "/spec/containers/0/image", value: "web:2" }];
  yield row("strategic merge", 0.5, () => applyStrategicMergePatch(uidLive, patch, schema));
  yield row("merge patch", 0.5, () => applyMergePatch(uidLive, merge));
  yield row("JSON patch", 0.5, () => applyJsonPatch(uidLive, operations));

  progress("apply");
  const owned = deepFreeze(normal(withUid(applyTo(undefined, configuration("web:1")))));
  const [same, other] = [configuration("web:1"), configuration("web:2")];
  yield row("apply: nothing changed", 6, () => applyTo(owned, same));
  yield row("apply: an image", 6, () => applyTo(owned, other));

  progress("small parts");
  const selector = parseSelector("app=web,tier in (a,b),!old");
  if (!selector.ok) throw new Error(selector.error);
  const labels = { app: "web", tier: "b" };
  yield {
    name: "selector match",
    value: microsOf(timeMs, () => matchesLabels(selector.value, labels)) * 1000,
    unit: "ns",
  };
  yield {
    name: "canonical quantity",
    value: microsOf(timeMs, () => canonicalQuantity("1.5Gi")) * 1000,
    unit: "ns",
  };
}

function applyTo(live: JsonObject | undefined, applied: JsonObject): JsonObject {
  const input = { ...write, live, applied, kind: "Pod", manager: "m", force: false };
  const result = applyPatch(input);
  if (!result.ok) throw new Error(result.status.message);
  return result.value;
}

function withUid(object: JsonObject): JsonObject {
  return { ...object, metadata: { ...(object.metadata as JsonObject), uid: "u" } };
}

function normal(object: JsonObject): JsonObject {
  const decoded = normalize(schema, object);
  if (!decoded.ok) throw new Error(decoded.error);
  return decoded.value;
}

/** Best of five, each for a fifth of the time. */
function microsOf(timeMs: number, work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    let [count, elapsed] = [0, 0];
    for (; elapsed < timeMs / 5; elapsed = performance.now() - start) {
      for (let i = 0; i < 50; i++) work();
      count += 50;
    }
    best = Math.min(best, (elapsed * 1000) / count);
  }
  return best;
}

function configuration(image: string): JsonObject {
  const spec = created.spec as JsonObject;
  const containers = (spec.containers as JsonObject[]).map((container) => ({
    ...container,
    image,
  }));
  return { ...created, spec: { ...spec, containers } };
}

function withStatus(pod: JsonObject, ready: string): JsonObject {
  const at = "2030-01-01T00:00:00Z";
  const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: type === "Ready" ? ready : "True",
    lastProbeTime: null,
    lastTransitionTime: at,
  }));
  const containerStatuses = samplePod.spec.containers.map((container) => ({
    name: container.name,
    state: { running: { startedAt: at } },
    lastState: {},
    ready: ready === "True",
    restartCount: 0,
    image: container.image,
    imageID: "sha256:0",
    started: true,
  }));
  const status = {
    phase: "Running",
    conditions,
    hostIP: "10.0.0.1",
    podIP: "10.1.0.1",
    podIPs: [{ ip: "10.1.0.1" }],
    startTime: at,
    containerStatuses,
    qosClass: "Burstable",
  };
  return { ...pod, status };
}
