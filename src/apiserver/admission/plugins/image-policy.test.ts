import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionContext } from "../plugin.ts";
import { imagePolicyWebhook } from "./image-policy.ts";

const context = {} as AdmissionContext;

function world(given: object, answer: () => unknown) {
  const clock = new VirtualClock(0);
  const asked: unknown[] = [];
  const plugin = imagePolicyWebhook(
    { imagePolicy: { kubeConfigFile: "/hook", ...given } },
    clock,
    () => async (question) => {
      asked.push((question as { spec: unknown }).spec);
      return answer();
    },
  );
  const notes: Record<string, string> = {};
  const ask = async (change: Partial<AdmissionRequest> = {}) => {
    const object = {
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name: "p", annotations: { "a.image-policy.k8s.io/b": "c", other: "d" } },
      spec: {
        containers: [{ name: "c", image: "one" }],
        initContainers: [{ name: "i", image: "two" }],
        ephemeralContainers: [{ name: "e", image: "three" }],
      },
    };
    const request = {
      operation: "CREATE",
      kind: podKind,
      subresource: "",
      namespace: "ns",
      name: "p",
      object,
      annotate: (key: string, value: string) => {
        notes[key] = value;
      },
      ...change,
    } as AdmissionRequest;
    const status = await plugin.validate!(request, context);
    return { message: status?.message, annotations: request.object?.metadata?.annotations };
  };
  return { clock, asked, notes, ask };
}

const allowed = () => ({ status: { allowed: true, auditAnnotations: { checked: "yes" } } });
const away = () => {
  throw new Error("away");
};

describe("ImagePolicyWebhook", () => {
  test("ImageReview has all containers, and the decision is cached", async () => {
    const { clock, asked, notes, ask } = world({ allowTTL: 10 }, allowed);
    assert.equal((await ask()).message, undefined);
    await ask({ operation: "UPDATE" });
    assert.deepEqual(asked, [
      {
        containers: [{ image: "one" }, { image: "two" }],
        annotations: { "a.image-policy.k8s.io/b": "c" },
        namespace: "ns",
      },
    ]);
    assert.deepEqual(notes, { "imagepolicywebhook.image-policy.k8s.io/checked": "yes" });
    await clock.advance(10_000);
    await ask();
    assert.equal(asked.length, 2);
    await ask({ operation: "UPDATE", subresource: "ephemeralcontainers" });
    assert.deepEqual((asked[2] as { containers: unknown }).containers, [{ image: "three" }]);
    await ask({ operation: "UPDATE", subresource: "status" });
    await ask({ operation: "DELETE" });
    assert.equal(asked.length, 3);
  });

  test("a refusal has the webhook's reason", async () => {
    const { ask } = world({}, () => ({ status: { allowed: false, reason: "old" } }));
    assert.equal(
      (await ask()).message,
      'pods "p" is forbidden: image policy webhook backend denied one or more images: old',
    );
    const silent = world({}, () => ({}));
    assert.equal(
      (await silent.ask()).message,
      'pods "p" is forbidden: one or more images rejected by webhook backend',
    );
  });

  test("a webhook that is away refuses, or lets pods through and notes it", async () => {
    assert.match((await world({}, away).ask()).message!, /is forbidden: away$/);
    const { notes, ask } = world({ defaultAllow: true }, away);
    const { message, annotations } = await ask();
    assert.equal(message, undefined);
    assert.equal(annotations?.["alpha.image-policy.k8s.io/failed-open"], "true");
    assert.deepEqual(notes, { "imagepolicywebhook.image-policy.k8s.io/failed-open": "true" });
  });

  test("times are bounded", () => {
    assert.throws(
      () => world({ allowTTL: 3600 }, allowed),
      /valid value is between 1s and 30m0s, got 3600s/,
    );
  });
});
