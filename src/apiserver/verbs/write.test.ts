import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";

const INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const ingress = (port: number) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "i" },
  spec: { defaultBackend: { service: { name: "s", port: { number: port } } } },
  status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
});
const MERGE = { "content-type": "application/merge-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

describe("create, update, patch and apply", () => {
  test("POST sets uid, creationTimestamp and namespace, whatever the client sent", async () => {
    await using t = await startTestApi();
    const metadata = { uid: "mine", creationTimestamp: "2001-01-01T00:00:00Z", selfLink: "/x" };
    const made = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a", { metadata }) });
    assert.match(made.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.equal(made.metadata.creationTimestamp, "2030-01-01T00:00:00Z");
    assert.equal(made.metadata.namespace, "default");
    assert.equal(made.metadata.selfLink, undefined);
    assert.deepEqual(await t.want(200, "GET", `${CONFIG_MAPS}/a`), made);
  });

  test("POST with generateName and a name that exists gets 409", async () => {
    await using t = await startTestApi();
    const body = configMap("a", { metadata: { generateName: "a-" } });
    await t.want(201, "POST", CONFIG_MAPS, { body });
    const refused = await t.want(409, "POST", CONFIG_MAPS, { body });
    assert.equal(
      refused.message,
      'configmaps "a" already exists, the server was not able to generate a unique name for the object',
    );
    assert.equal(refused.details.retryAfterSeconds, 1);
  });

  test("DELETE refuses a body that is no DeleteOptions with 400", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const kind = { apiVersion: "v1", kind: "Pod" };
    const wrong = await t.want(400, "DELETE", `${CONFIG_MAPS}/a`, { body: kind });
    assert.match(wrong.message, /^no kind "Pod" is registered for version "v1" in scheme/);
    const garbage = await t.want(400, "DELETE", `${CONFIG_MAPS}/a`, { body: "x" });
    assert.match(
      garbage.message,
      /^couldn't get version\/kind; json parse error: invalid character/,
    );
    const list = await t.want(400, "DELETE", `${CONFIG_MAPS}/a`, { body: [] });
    assert.match(
      list.message,
      /parse error: json: cannot unmarshal array into .* of type struct \{/,
    );
    await t.want(200, "DELETE", `${CONFIG_MAPS}/a`, { body: { ...kind, kind: "DeleteOptions" } });
  });

  test("merge patches of one object at the same time all succeed, in the order of coming", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const order: number[] = [];
    const patches = Array.from({ length: 150 }, async (_, n) => {
      const body = { data: { [`k${n}`]: `${n}` } };
      await t.want(200, "PATCH", `${CONFIG_MAPS}/a`, { headers: MERGE, body });
      order.push(n);
    });
    await Promise.all(patches);
    const { data } = await t.want(200, "GET", `${CONFIG_MAPS}/a`);
    assert.equal(Object.keys(data).filter((key) => /^k\d/.test(key)).length, 150);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  test("PUT with a stale resourceVersion is refused with 409, one without resourceVersion is not", async () => {
    await using t = await startTestApi();
    const { metadata } = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const stale = configMap("a", { metadata: { resourceVersion: metadata.resourceVersion } });
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a", { data: { k: "1" } }) });
    const status = await t.want(409, "PUT", `${CONFIG_MAPS}/a`, { body: stale });
    assert.equal(status.reason, "Conflict");
    const other = configMap("a", { metadata: { uid: "00000000-0000-4000-8000-000000000000" } });
    await t.want(409, "PUT", `${CONFIG_MAPS}/a`, { body: other });
  });

  test("PUT that changes nothing keeps the resourceVersion", async () => {
    await using t = await startTestApi();
    const made = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    await t.clock.advance(5_000);
    const before = t.api.store.cache.revision;
    const same = await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a") });
    assert.deepEqual(same, made);
    await t.want(200, "PATCH", `${CONFIG_MAPS}/a`, { headers: MERGE, body: { data: made.data } });
    assert.equal(t.api.store.cache.revision, before);
  });

  test("spec and status are written by different endpoints, and only spec raises metadata.generation", async () => {
    await using t = await startTestApi();
    const made = await t.want(201, "POST", INGRESSES, { body: ingress(80) });
    assert.deepEqual([made.metadata.generation, made.status], [1, { loadBalancer: {} }]);
    const moved = await t.want(200, "PUT", `${INGRESSES}/i`, { body: ingress(81) });
    assert.deepEqual([moved.metadata.generation, moved.status], [2, { loadBalancer: {} }]);
    const updated = await t.want(200, "PUT", `${INGRESSES}/i/status`, { body: ingress(99) });
    assert.equal(updated.metadata.generation, 2);
    assert.equal(updated.spec.defaultBackend.service.port.number, 81);
    assert.deepEqual(updated.status.loadBalancer.ingress, [{ ip: "192.0.2.1" }]);
  });

  test("POST of another kind is refused with 400 and the expected kind in the message", async () => {
    await using t = await startTestApi();
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } };
    const message = async (path: string): Promise<string> =>
      (await t.want(400, "POST", path, { body })).message;
    assert.match(
      await message("/apis/events.k8s.io/v1/namespaces/default/events"),
      /converting \(v1\.Pod\) to \(core\.Event\): unknown conversion$/,
    );
    assert.match(
      await message("/apis/apiregistration.k8s.io/v1/apiservices"),
      /no kind "Pod" is registered for version "v1" in scheme "pkg\/apiserver\/scheme\/scheme\.go:28"$/,
    );
  });

  test("a dry run answers as if, and leaves nothing behind", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const before = t.api.store.cache.revision;
    const made = await t.want(201, "POST", `${CONFIG_MAPS}?dryRun=All`, { body: configMap("b") });
    assert.equal(made.metadata.resourceVersion, undefined);
    const versioned = configMap("b", { metadata: { resourceVersion: "5" } });
    const kept = await t.want(201, "POST", `${CONFIG_MAPS}?dryRun=All`, { body: versioned });
    assert.equal(kept.metadata.resourceVersion, "5");
    await t.want(409, "POST", `${CONFIG_MAPS}?dryRun=All`, { body: configMap("a") });
    const body = configMap("a", { data: { k: "dry" } });
    const put = await t.want(200, "PUT", `${CONFIG_MAPS}/a?dryRun=All`, { body });
    assert.equal(put.data.k, "dry");
    await t.want(200, "DELETE", `${CONFIG_MAPS}/a?dryRun=All`);
    await t.want(404, "GET", `${CONFIG_MAPS}/b`);
    assert.equal(t.api.store.cache.revision, before);
  });

  test("generateName makes a name, and another one if it is taken", async () => {
    await using t = await startTestApi();
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "gen-" } };
    const names = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const { metadata } = await t.want(201, "POST", CONFIG_MAPS, { body });
      assert.match(metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      names.add(metadata.name);
    }
    assert.equal(names.size, 50);
  });

  test("30 concurrent merge patches of one ConfigMap are all kept", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const patch = (key: string) =>
      t.want(200, "PATCH", `${CONFIG_MAPS}/a`, { headers: MERGE, body: { data: { [key]: "1" } } });
    await Promise.all(Array.from({ length: 30 }, (_, n) => patch(`k${n}`)));
    const { data } = await t.want(200, "GET", `${CONFIG_MAPS}/a`);
    assert.equal(Object.keys(data).length, 31);
  });

  test("apply: lists with duplicate keys are refused", async () => {
    await using t = await startTestApi();
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const account = (more: object) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "a" },
      ...more,
    });
    const why =
      '.secrets: element 1: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)';
    await t.want(201, "POST", accounts, { body: account({ secrets: [{ name: "b" }, {}] }) });
    const options = { headers: APPLY, body: account({ secrets: [{ name: "c" }] }) };
    const status = await t.want(500, "PATCH", `${accounts}/a?fieldManager=m`, options);
    assert.equal(
      status.message,
      `failed to create manager for existing fields: failed to convert new object (default/a; /v1, Kind=ServiceAccount) to smd typed: ${why}`,
    );
  });

  test("server-side apply creates, owns, conflicts, and removes fields that are no longer applied", async () => {
    await using t = await startTestApi();
    const apply = (manager: string, data: object, more = "") => ({
      url: `${CONFIG_MAPS}/a?fieldManager=${manager}${more}`,
      options: {
        headers: APPLY,
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data },
      },
    });
    const first = apply("one", { x: "1", y: "1" });
    await t.want(201, "PATCH", first.url, first.options);
    const rival = apply("two", { x: "2" });
    const status = await t.want(409, "PATCH", rival.url, rival.options);
    assert.equal(status.details.causes[0].field, ".data.x");
    const forced = apply("two", { x: "2" }, "&force=true");
    await t.want(200, "PATCH", forced.url, forced.options);
    const less = apply("one", {});
    const { data } = await t.want(200, "PATCH", less.url, less.options);
    assert.deepEqual(data, { x: "2" });
    const missing = { headers: APPLY, body: configMap("a") };
    await t.want(422, "PATCH", `${CONFIG_MAPS}/a`, missing);
  });

  test("a PUT to a missing name creates only where the kind says so", async () => {
    await using t = await startTestApi();
    await t.want(404, "PUT", `${CONFIG_MAPS}/new`, { body: configMap("new") });
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "new" },
    };
    const url = "/apis/coordination.k8s.io/v1/namespaces/default/leases/new";
    await t.want(201, "PUT", url, { body: lease });
    await t.want(422, "PUT", url, { body: lease }); // an update has to name the version
  });

  test("finalizers keep a deleted object until the last is taken away", async () => {
    await using t = await startTestApi();
    const body = configMap("a", { metadata: { finalizers: ["example.com/x"] } });
    await t.want(201, "POST", CONFIG_MAPS, { body });
    const marked = await t.want(200, "DELETE", `${CONFIG_MAPS}/a`);
    assert.equal(marked.metadata.deletionGracePeriodSeconds, 0);
    const status = await t.want(409, "POST", CONFIG_MAPS, { body });
    assert.match(status.message, /^object is being deleted: /);
    await t.want(200, "PATCH", `${CONFIG_MAPS}/a`, {
      headers: MERGE,
      body: { metadata: { finalizers: null } },
    });
    await t.want(404, "GET", `${CONFIG_MAPS}/a`);
  });

  test("a collection is deleted as far as the selectors reach", async () => {
    await using t = await startTestApi();
    for (let n = 0; n < 70; n++) {
      const labels = n % 2 === 0 ? { even: "yes" } : {};
      await t.want(201, "POST", CONFIG_MAPS, {
        body: configMap(`c${n}`, { metadata: { labels } }),
      });
    }
    const deleted = await t.want(200, "DELETE", `${CONFIG_MAPS}?labelSelector=even`);
    assert.equal(deleted.items.length, 35);
    assert.equal((await t.want(200, "GET", CONFIG_MAPS)).items.length, 35);
  });

  const malformed = [
    { name: "no JSON", body: "{", code: 400 },
    {
      name: "another kind",
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } },
      code: 400,
    },
    { name: "another version", body: { apiVersion: "v2", kind: "ConfigMap" }, code: 400 },
    { name: "a wrong type", body: { metadata: { name: 5 } }, code: 400 },
    {
      name: "another namespace",
      body: configMap("a", { metadata: { namespace: "x" } }),
      code: 400,
    },
    { name: "no name", body: { metadata: {} }, code: 422 },
    { name: "a bad name", body: configMap("A_b"), code: 422 },
    {
      name: "a resourceVersion",
      body: configMap("a", { metadata: { resourceVersion: "5" } }),
      code: 500,
    },
  ];
  for (const { name, body, code } of malformed) {
    test(`POST of a body with ${name} is refused and nothing is written`, async () => {
      await using t = await startTestApi();
      const before = t.api.store.cache.revision;
      const status = await t.want(code, "POST", CONFIG_MAPS, { body });
      assert.equal(status.status, "Failure");
      assert.equal(t.api.store.cache.revision, before);
    });
  }

  test("fieldValidation: unknown fields warn, fail or pass as asked", async () => {
    await using t = await startTestApi();
    const body = { ...configMap("a"), bogus: 1 };
    const warned = await t.ask("POST", `${CONFIG_MAPS}?dryRun=All`, { body });
    assert.deepEqual([warned.code, warned.warnings], [201, ['unknown field "bogus"']]);
    const ignored = await t.ask("POST", `${CONFIG_MAPS}?dryRun=All&fieldValidation=Ignore`, {
      body,
    });
    assert.deepEqual([ignored.code, ignored.warnings], [201, []]);
    await t.want(400, "POST", `${CONFIG_MAPS}?fieldValidation=Strict`, { body });
  });

  test("managedFields hold the fields that the object is read back with", async () => {
    await using t = await startTestApi();
    const scaler = await t.want(
      201,
      "POST",
      "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
      {
        body: {
          apiVersion: "autoscaling/v1",
          kind: "HorizontalPodAutoscaler",
          metadata: { name: "h" },
          spec: {
            maxReplicas: 5,
            scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
          },
        },
      },
    );
    const owned = scaler.metadata.managedFields[0].fieldsV1;
    assert.deepEqual(owned["f:spec"]["f:targetCPUUtilizationPercentage"], {});

    const labels = { app: "x" };
    const daemons = await t.want(201, "POST", "/apis/apps/v1/namespaces/default/daemonsets", {
      body: {
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata: { name: "d" },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: "c", image: "i" }] },
          },
        },
      },
    });
    assert.deepEqual(daemons.metadata.managedFields[0].fieldsV1["f:metadata"], {
      "f:annotations": { ".": {}, "f:deprecated.daemonset.template.generation": {} },
    });
  });

  test("server-side apply: an invalid quantity is refused with the object and its type", async () => {
    await using t = await startTestApi();
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "default" },
      spec: { hard: { pods: "many" } },
    };
    const url = "/api/v1/namespaces/default/resourcequotas/q?fieldManager=m";
    const status = await t.want(500, "PATCH", url, { body: quota, headers: APPLY });
    assert.match(
      status.message,
      /^failed to convert new object \(default\/q; \/v1, Kind=ResourceQuota\) to proper version: unable to convert unstructured object to \/v1, Kind=ResourceQuota: quantities must match/,
    );
  });

  test("a SelfSubjectAccessReview has no Table; a Scale has one", async () => {
    await using t = await startTestApi();
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { nonResourceAttributes: { path: "/", verb: "get" } },
    };
    const url = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const refused = await t.want(406, "POST", url, { body: review, headers });
    assert.equal(refused.reason, "NotAcceptable");

    const labels = { app: "x" };
    const sets = "/apis/apps/v1/namespaces/default/replicasets";
    const set = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "r" },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    };
    await t.want(201, "POST", sets, { body: set });
    const { kind, columnDefinitions, rows } = await t.want(200, "GET", `${sets}/r/scale`, {
      headers,
    });
    assert.equal(kind, "Table");
    assert.deepEqual(
      columnDefinitions.map(({ name }: { name: string }) => name),
      ["Name", "Desired", "Available", "Age"],
    );
    assert.deepEqual(rows[0].cells, ["r", 3, 0, "0s"]);
  });
});
