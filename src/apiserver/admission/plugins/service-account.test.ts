import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import {
  admitWith,
  type Loose,
  looseObject as object,
  loosePod as pod,
  specOf,
} from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { serviceAccount } from "./service-account.ts";

describe("ServiceAccount", () => {
  const plugin = serviceAccount({ clock: new VirtualClock(0), random: seededRandom(1) });
  const withAccount = (fields: Loose = {}): MemoryObjects => {
    const objects = new MemoryObjects();
    objects.put(serviceAccountKind, object("default", fields));
    return objects;
  };

  test("gives pods the default account, its token and its pull secrets", async () => {
    const objects = withAccount({ imagePullSecrets: [{ name: "pull" }] });
    const result = await admitWith(plugin, podKind, pod(), { objects });
    const spec = specOf(result);
    assert.equal(result.status, undefined);
    assert.equal(spec.serviceAccountName, "default");
    assert.deepEqual(spec.imagePullSecrets, [{ name: "pull" }]);
    const [volume] = spec.volumes!;
    assert.match(volume!.name, /^kube-api-access-.{5}$/);
    assert.deepEqual(spec.containers![0]!.volumeMounts, [
      {
        name: volume!.name,
        readOnly: true,
        mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
      },
    ]);
    assert.equal(volume!.projected!.sources![0]!.serviceAccountToken!.expirationSeconds, 3607);
  });

  test("mounts no token where pod or account do not want it", async () => {
    const noToken = { automountServiceAccountToken: false };
    for (const [spec, fields] of [
      [noToken, {}],
      [{}, noToken],
    ]) {
      const result = await admitWith(plugin, podKind, pod(spec), { objects: withAccount(fields) });
      assert.equal(specOf(result).volumes, undefined);
    }
  });

  test("refuses a missing serviceAccountName", async () => {
    const { status } = await admitWith(plugin, podKind, pod({ serviceAccountName: "x" }));
    assert.equal(
      status?.message,
      'pods "p" is forbidden: error looking up service account ns/x: serviceaccount "x" not found',
    );
  });

  test("refuses an invalid serviceAccountName", async () => {
    const { status } = await admitWith(plugin, podKind, pod({ serviceAccountName: "a/b" }));
    assert.match(
      status?.message ?? "",
      /service account ns\/a\/b: invalid resource name "a\/b": \[may not contain '\/'\]$/,
    );
  });

  test("waits a second for the default ServiceAccount", async () => {
    const clock = new VirtualClock(0);
    const waiting = serviceAccount({ clock, random: seededRandom(1) });
    const objects = new MemoryObjects();
    const late = admitWith(waiting, podKind, pod(), { objects });
    objects.put(serviceAccountKind, object("default"));
    assert.equal((await late).status, undefined);
    const never = admitWith(waiting, podKind, pod());
    await clock.advance(1000);
    assert.match((await never).status?.message ?? "", /serviceaccount "default" not found/);
    assert.equal(clock.pendingTimers, 0);
  });

  test("a mirror pod refers to nothing", async () => {
    const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
    const named = await admitWith(plugin, podKind, pod({ serviceAccountName: "default" }, mirror));
    assert.match(named.status?.message ?? "", /a mirror pod may not reference service accounts/);
    const secret = { volumes: [{ name: "v", secret: { secretName: "s" } }] };
    const withSecret = await admitWith(plugin, podKind, pod(secret, mirror));
    assert.match(withSecret.status?.message ?? "", /a mirror pod may not reference secrets/);
    assert.equal((await admitWith(plugin, podKind, pod({}, mirror))).status, undefined);
  });

  test("an account may allow only the secrets that it lists", async () => {
    const objects = new MemoryObjects();
    const enforce = { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } };
    objects.put(serviceAccountKind, object("default", { secrets: [{ name: "ok" }] }, enforce));
    const from = (name: string) => ({
      containers: [{ name: "c", envFrom: [{ secretRef: { name } }] }],
    });
    assert.equal(
      (await admitWith(plugin, podKind, pod(from("ok")), { objects })).status,
      undefined,
    );
    const { status } = await admitWith(plugin, podKind, pod(from("x")), { objects });
    assert.equal(
      status?.message,
      'pods "p" is forbidden: container c with envFrom referencing secret.secretName="x" is not ' +
        "allowed because service account default does not reference that secret",
    );
  });
});
