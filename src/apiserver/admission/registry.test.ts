import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { alwaysAllow } from "../authz/chain.ts";
import { admissionPlugins } from "./registry.ts";

describe("admission plug-in registry", () => {
  const dependencies = {
    authorizer: alwaysAllow,
    clock: new VirtualClock(0),
    random: seededRandom(1),
    tolerationSeconds: { notReady: 300, unreachable: 300 },
    mutating: [{ name: "MutatingAdmissionWebhook" }],
    validating: [{ name: "ValidatingAdmissionWebhook" }],
    findKind: () => undefined,
    configurations: {
      EventRateLimit: {
        apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        limits: [{ type: "Nothing", qps: 1, burst: 1 }],
      },
    },
  };
  const names = (choice: { enable?: string[]; disable?: string[] }) =>
    admissionPlugins(dependencies, { enable: [], disable: [], ...choice }).map(({ name }) => name);

  test("webhooks come after the built-in plug-ins, and quota comes last", () => {
    assert.deepEqual(names({}).slice(-3), [
      "MutatingAdmissionWebhook",
      "ValidatingAdmissionWebhook",
      "ResourceQuota",
    ]);
  });
  test("--enable-admission-plugins and --disable-admission-plugins", () => {
    assert.ok(!names({ disable: ["Priority"] }).includes("Priority"));
    assert.ok(!names({}).includes("AlwaysPullImages"));
    assert.ok(names({ enable: ["AlwaysPullImages"] }).includes("AlwaysPullImages"));
    names({ enable: ["PodGroupProtection", "ValidatingAdmissionWebhook"] });
  });
  test("an unknown admission plug-in stops the start", () => {
    assert.throws(
      () => names({ disable: ["Nonsense"] }),
      /disable-admission-plugins plugin "Nonsense" is unknown/,
    );
  });
  test("a plug-in that must be configured cannot be turned on without", () => {
    names({ disable: ["ImagePolicyWebhook"] });
    assert.throws(() => names({ enable: ["ImagePolicyWebhook"] }), /no config specified/);
  });
  test("a plug-in that is both enabled and disabled stops the start", () => {
    const both = ["Priority", "LimitRanger"];
    assert.throws(
      () => names({ enable: both, disable: both }),
      /^Error: \[LimitRanger Priority\] in /,
    );
  });
  test("a configuration matters only to plug-ins that run", () => {
    names({});
    assert.throws(
      () => names({ enable: ["EventRateLimit"] }),
      /couldn't init admission plugin "EventRateLimit": limits\[0\]\.type: Unsupported value: "Nothing"/,
    );
  });
});
