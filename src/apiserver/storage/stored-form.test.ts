/** What lies in the store: upstream's keys and forms, both of which are read. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { encodeProtobuf } from "#api/codec/protobuf.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";
import type { ApiRequest } from "../request/request.ts";
import type { Answer } from "../response/answer.ts";

const KEY = "/registry/configmaps/default/a";

describe("API server: stored objects", () => {
  const places = [
    { url: "/api/v1/nodes", key: "/registry/minions/x" },
    { url: "/api/v1/namespaces", key: "/registry/namespaces/x" },
    { url: "/api/v1/namespaces/n/serviceaccounts", key: "/registry/serviceaccounts/n/x" },
    { url: "/api/v1/namespaces/n/endpoints", key: "/registry/services/endpoints/n/x" },
    { url: "/apis/rbac.authorization.k8s.io/v1/clusterroles", key: "/registry/clusterroles/x" },
  ];
  for (const { url, key } of places) {
    test(`${url} lie at ${key}`, async () => {
      await using t = await startTestApi();
      await t.want(201, "POST", url, { body: { metadata: { name: "x" } } });
      assert.ok((await t.store.get(key)).entry);
    });
  }

  test("JSON has no resourceVersion of its own", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const { entry } = await t.store.get(KEY);
    const text = Buffer.from(entry!.value).toString();
    assert.match(text, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"a"/);
    assert.doesNotMatch(text, /resourceVersion/);
  });

  test("storage-media-type protobuf is written if configured, and read in any case", async () => {
    const clock = new VirtualClock();
    const store = createMemoryStore({ clock });
    let made: unknown;
    {
      const t = await startTestApi({ store, storedForm: "protobuf" });
      made = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
      const { entry } = await store.get(KEY);
      assert.equal(Buffer.from(entry!.value.subarray(0, 4)).toString("latin1"), "k8s\0");
      const same = await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a") });
      assert.deepEqual(same, made);
    }
    await using t = await startTestApi({ store });
    assert.deepEqual(await t.want(200, "GET", `${CONFIG_MAPS}/a`), made);
  });

  test("objects in another version are read; undecodable ones fail GET and LIST of their resource with 500", async () => {
    const clock = new VirtualClock();
    const store = createMemoryStore({ clock });
    const hpa = {
      kind: "HorizontalPodAutoscaler",
      apiVersion: "autoscaling/v1",
      metadata: { name: "h", namespace: "default", uid: "u" },
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "d" },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 50,
      },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    };
    const put = (key: string, text: string) => store.put(key, Buffer.from(text));
    await put("/registry/horizontalpodautoscalers/default/h", JSON.stringify(hpa));
    await put("/registry/configmaps/default/bad", "k8s\0garbage");
    await put("/registry/strange/thing", "whatever");
    await using t = await startTestApi({ store });
    const url = "/namespaces/default/horizontalpodautoscalers/h";
    const v2 = await t.want(200, "GET", `/apis/autoscaling/v2${url}`);
    assert.equal(v2.spec.metrics[0].resource.target.averageUtilization, 50);
    const v1 = await t.want(200, "GET", `/apis/autoscaling/v1${url}`);
    assert.equal(v1.spec.targetCPUUtilizationPercentage, 50);
    await t.want(500, "GET", CONFIG_MAPS);
    await put("/registry/configmaps/default/bad", '{"kind":"ConfigMap",');
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("good") });
    const json = "couldn't get version/kind; json parse error: unexpected end of JSON input";
    assert.equal((await t.want(500, "GET", CONFIG_MAPS)).message, json);
    assert.equal((await t.want(500, "GET", `${CONFIG_MAPS}/bad`)).message, json);
    await t.want(200, "GET", `${CONFIG_MAPS}/good`);
    await t.want(200, "GET", "/api/v1/namespaces/other/configmaps");
    await store.delete("/registry/configmaps/default/bad");
    assert.equal((await t.want(200, "GET", CONFIG_MAPS)).items.length, 1);
  });

  test("protobuf of upstream is read with defaults: it stores a new PersistentVolumeClaim without status.phase", async () => {
    const store = createMemoryStore({ clock: new VirtualClock() });
    const claim = {
      ...{ kind: "PersistentVolumeClaim", apiVersion: "v1" },
      metadata: { name: "data", namespace: "default", uid: "u" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      status: {},
    };
    const bytes = encodeProtobuf(persistentVolumeClaimKind.schema(), claim);
    await store.put("/registry/persistentvolumeclaims/default/data", bytes);
    await using t = await startTestApi({ store });
    const url = "/api/v1/namespaces/default/persistentvolumeclaims/data";
    const { spec, status } = await t.want(200, "GET", url);
    assert.equal(status.phase, "Pending");
    assert.equal(spec.volumeMode, "Filesystem");
  });

  test("what another writer puts into the store is seen at once", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const { entry } = await t.store.get(KEY);
    const text = Buffer.from(entry!.value)
      .toString()
      .replace(/"k":"\w+"/, '"k":"foreign"');
    const { revision } = await t.store.put(KEY, Buffer.from(text));
    const { data, metadata } = await t.want(200, "GET", `${CONFIG_MAPS}/a`);
    assert.deepEqual([data.k, metadata.resourceVersion], ["foreign", String(revision)]);
  });
});

describe("whole numbers beyond 2^53 in JSON of others keep their digits", () => {
  const REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions";
  const DATA = '"data":{"a":9007199254740993,"b":[-9223372036854775808]}';
  const type = '"apiVersion":"apps/v1","kind":"ControllerRevision"';
  const body = `{${type},"metadata":{"name":"r"},"revision":1,${DATA}}`;

  test.each(["json", "protobuf"] as const)("stored as %s", async (storedForm) => {
    await using first = await startTestApi({ storedForm });
    const textOf = ({ body: sent }: Answer): string => {
      assert.ok(sent.form === "object");
      return sent.object.json.toString();
    };
    const made = await first.api.handle(requestOf("POST", REVISIONS, body));
    assert.equal(made.code, 201);
    await using later = await startTestApi({ storedForm, store: first.store });
    const patched = await later.api.handle(
      requestOf("PATCH", `${REVISIONS}/r`, '{"metadata":{"labels":{"a":"b"}}}'),
    );
    assert.equal(patched.code, 200);
    for (const answer of [made, patched]) assert.ok(textOf(answer).includes(DATA));
  });
});

function requestOf(method: string, path: string, text: string): ApiRequest {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return {
    ...{ method, path, query: new URLSearchParams(), headers: { "content-type": type } },
    body: { form: "bytes", bytes: Buffer.from(text) },
    peer: { address: "test", user: { name: "tester", groups: ["system:masters"] } },
    signal: new AbortController().signal,
  };
}
