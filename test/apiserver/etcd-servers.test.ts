/** API servers on a real etcd: what they show when it is fresh, shared, and gone. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { openWhenReady } from "../store/open-etcd.ts";
import { askHttps, type HttpsAsk } from "./https-ask.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const missing = missingProgram("etcd");
const TOKENS = 'tok,admin,1,"system:masters"\n';
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
/** Servers and etcds are started, and hundreds of writes made one after the other. */
const TIME = { timeout: 120_000 };
/** Upstream's own count on a fresh cluster. */
const CLUSTER_ROLES_COUNT = 69;

const start = (endpoints: readonly string[], keysOf?: TestServer): Promise<TestServer> =>
  startTestServer({
    tokens: TOKENS,
    flags: ["--etcd-servers", endpoints.join(",")],
    ...(keysOf === undefined ? {} : { keysOf }),
  });
const ask = (server: TestServer, request: HttpsAsk) =>
  askHttps(server, { ...request, token: "tok" });
const create = (server: TestServer, name: string) =>
  ask(server, { method: "POST", path: CONFIG_MAPS, body: { metadata: { name } } });

describe.skipIf(missing !== undefined)(`on etcd${missing ? ` (${missing})` : ""}`, TIME, () => {
  test("a fresh cluster has all that it begins with as soon as it is ready, every time", async () => {
    for (let round = 0; round < 4; round++) {
      await using etcd = await startEtcd();
      await using server = await start(etcd.endpoints);
      for (const query of ["", "?resourceVersion=0", "?limit=500"]) {
        const { json } = await ask(server, { path: CLUSTER_ROLES + query });
        assert.equal(json.items.length, CLUSTER_ROLES_COUNT, `round ${round}${query}`);
      }
      const ready = await ask(server, { path: "/readyz" });
      assert.deepEqual([ready.code, ready.text], [200, "ok"]);
    }
  });

  test("--etcd-prefix: two clusters share one etcd and do not see each other's objects", async () => {
    await using etcd = await startEtcd();
    await using a = await start(etcd.endpoints);
    await using b = await startTestServer({
      tokens: TOKENS,
      flags: ["--etcd-servers", etcd.endpoints.join(","), "--etcd-prefix=clusters/b"],
    });
    assert.equal((await create(a, "of-a")).code, 201);
    assert.equal((await create(b, "of-b")).code, 201);
    const named = async (server: TestServer) => {
      const { json } = await ask(server, { path: CONFIG_MAPS });
      return json.items
        .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
        .filter((name: string) => name.startsWith("of-"));
    };
    assert.deepEqual(await named(a), ["of-a"]);
    assert.deepEqual(await named(b), ["of-b"]);
    await using store = await openWhenReady(etcd.endpoints);
    const there = async (key: string) => (await store.get(key)).entry !== undefined;
    assert.ok(await there("/registry/configmaps/default/of-a"));
    assert.ok(await there("/clusters/b/configmaps/default/of-b"));
    assert.ok(!(await there("/registry/configmaps/default/of-b")));
  });

  test("--etcd-servers-overrides: Events lie in an etcd of their own, with its resourceVersions", async () => {
    await using etcd = await startEtcd();
    await using other = await startEtcd();
    await using server = await startTestServer({
      tokens: TOKENS,
      flags: [
        ...["--etcd-servers", etcd.endpoints.join(",")],
        `--etcd-servers-overrides=/events#${other.endpoints.join(";")}`,
      ],
    });
    const path = "/apis/events.k8s.io/v1/namespaces/default/events";
    const event = (name: string) => ({
      metadata: { name },
      ...{ eventTime: "2030-01-01T00:00:00.000000Z", type: "Normal", reason: "Tested" },
      ...{ action: "Test", reportingController: "test", reportingInstance: "test" },
      regarding: { kind: "Pod", namespace: "default", name: "x" },
    });
    const made = await ask(server, { method: "POST", path, body: event("first") });
    assert.equal(made.code, 201, made.text);
    assert.equal((await create(server, "beside")).code, 201);
    await using mainStore = await openWhenReady(etcd.endpoints);
    await using otherStore = await openWhenReady(other.endpoints);
    const revisions = [await mainStore.currentRevision(), await otherStore.currentRevision()];
    assert.ok(revisions[0]! > revisions[1]! + 10, `${revisions}`);
    const key = "/registry/events/default/first";
    assert.equal((await mainStore.get(key)).entry, undefined);
    const { entry } = await otherStore.get(key);
    assert.equal(made.json.metadata.resourceVersion, String(entry?.modRevision));
    const inMain = "/registry/configmaps/default/beside";
    assert.ok((await mainStore.get(inMain)).entry !== undefined);
    assert.equal((await otherStore.get(inMain)).entry, undefined);

    const listed = await ask(server, { path: "/api/v1/events" });
    assert.deepEqual(listed.json.items.length, 1);
    assert.equal(listed.json.metadata.resourceVersion, String(revisions[1]));
    const again = await ask(server, { method: "POST", path, body: event("second") });
    const since = `?watch=1&timeoutSeconds=1&resourceVersion=${listed.json.metadata.resourceVersion}`;
    const { text } = await ask(server, { path: path + since });
    const [seen] = text.trim().split("\n");
    assert.equal(JSON.parse(seen!).object.metadata.name, "second", text);
    const patched = await ask(server, {
      ...{ method: "PATCH", path: `${path}/second`, body: { metadata: { labels: { a: "b" } } } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    assert.ok(
      Number(patched.json.metadata.resourceVersion) > Number(again.json.metadata.resourceVersion),
    );
    assert.equal((await ask(server, { method: "DELETE", path: `${path}/second` })).code, 200);
    assert.equal((await otherStore.get("/registry/events/default/second")).entry, undefined);
  });

  test("a second server shows at once what the first has written, and in order", async () => {
    await using etcd = await startEtcd();
    await using a = await start(etcd.endpoints);
    await using b = await start(etcd.endpoints, a);
    const life = new AbortController();
    const received: string[] = [];
    const watching = watch(b, (name) => received.push(name), life.signal);
    const written: string[] = [];
    for (let round = 0; round < 150; round++) {
      const name = `c${String(round).padStart(3, "0")}`;
      const [writer, reader] = round % 2 === 0 ? [a, b] : [b, a];
      const made = await create(writer, name);
      assert.equal(made.code, 201);
      written.push(name);
      if (round % 3 === 0) {
        const list = await ask(reader, { path: CONFIG_MAPS });
        const names = list.json.items.map(
          ({ metadata }: { metadata: { name: string } }) => metadata.name,
        );
        assert.ok(names.includes(name), `the list after round ${round}`);
        assert.ok(Number(list.json.metadata.resourceVersion) >= versionOf(made.json));
      } else {
        const got = await ask(reader, { path: `${CONFIG_MAPS}/${name}` });
        assert.equal(got.code, 200, `the object of round ${round}`);
        assert.equal(got.json.metadata.uid, made.json.metadata.uid);
      }
    }
    await eventually(() => received.length >= written.length);
    assert.deepEqual(received, written);
    life.abort();
    await watching;
  });

  test("what someone else has written is there as soon as etcd has acknowledged it", async () => {
    await using etcd = await startEtcd();
    await using server = await start(etcd.endpoints);
    await using other = await openWhenReady(etcd.endpoints);
    // In this process, so that nothing is slower than the watch that feeds the cache.
    for (let round = 0; round < 200; round++) {
      const name = `r${round}`;
      const key = { namespace: "default", name };
      const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { ...key, uid: name } };
      const bytes = Buffer.from(JSON.stringify(object));
      await other.put(`/registry/configmaps/default/${name}`, bytes);
      if (round % 2 === 0) {
        const got = await server.client.get(configMapKind, key);
        assert.ok(got.ok, `the object of round ${round}`);
      } else {
        const list = await server.client.list(configMapKind, { namespace: "default" });
        assert.ok(list.ok);
        const names = list.value.items.map(({ metadata }) => metadata.name);
        assert.ok(names.includes(name), `the list of round ${round}`);
      }
    }
  });

  test("a patch or delete is based on what etcd has, though the cache has not seen it yet", async () => {
    await using etcd = await startEtcd();
    await using server = await start(etcd.endpoints);
    await using other = await openWhenReady(etcd.endpoints);
    const putByOther = async (name: string, data: object): Promise<number> => {
      const metadata = { name, namespace: "default", uid: name };
      const object = { kind: "ConfigMap", apiVersion: "v1", metadata, data };
      const bytes = Buffer.from(JSON.stringify(object));
      return (await other.put(`/registry/configmaps/default/${name}`, bytes)).revision;
    };
    // In this process, so that the request is faster than the watch that feeds the cache.
    const { client } = server;
    const patch = async (name: string, data: object) => {
      const key = { namespace: "default", name };
      const patched = await client.patch(configMapKind, key, "merge", { data });
      assert.ok(patched.ok, `the patch of ${name}`);
      return patched.value;
    };
    for (let round = 0; round < 60; round++) {
      const name = `p${round}`;
      await putByOther(name, { theirs: "old" });
      assert.equal((await patch(name, { ours: "1" })).data?.theirs, "old");
      const changed = await putByOther(name, { theirs: `${round}` });
      const both = await patch(name, { ours: "2" });
      assert.deepEqual(both.data, { theirs: `${round}`, ours: "2" });
      assert.ok(Number(both.metadata.resourceVersion) > changed);

      // What would change nothing in the cached object changes the one that is there.
      const again = await putByOther(name, { theirs: "new" });
      const back = await patch(name, { theirs: `${round}` });
      assert.equal(back.data?.theirs, `${round}`);
      assert.ok(Number(back.metadata.resourceVersion) > again);

      const late = { namespace: "default", name: `late${round}` };
      await putByOther(late.name, {});
      assert.ok((await client.delete(configMapKind, late)).ok, `the deletion of ${late.name}`);
      assert.equal((await other.get(`/registry/configmaps/default/${late.name}`)).entry, undefined);
    }
  });

  test("that goes away makes the server say so, and comes back by itself", async () => {
    await using etcd = await startEtcd();
    await using server = await start(etcd.endpoints);
    assert.equal((await create(server, "before")).code, 201);
    const life = new AbortController();
    const received: string[] = [];
    const watching = watch(server, (name) => received.push(name), life.signal);
    await eventually(() => received.includes("before"));

    await etcd.kill(0);
    for (const refused of [
      await ask(server, { path: `${CONFIG_MAPS}/before` }),
      await ask(server, { path: CONFIG_MAPS }),
      await create(server, "meanwhile"),
      await ask(server, { method: "DELETE", path: `${CONFIG_MAPS}/before` }),
    ]) {
      assert.equal(refused.code, 503);
      assert.deepEqual(
        [refused.json.kind, refused.json.status, refused.json.reason],
        ["Status", "Failure", "ServiceUnavailable"],
      );
    }
    const cached = await ask(server, { path: `${CONFIG_MAPS}?resourceVersion=0` });
    assert.equal(cached.code, 200); // who is content with what the cache has gets it
    const red = await ask(server, { path: "/readyz" });
    assert.equal(red.code, 500);
    assert.match(red.text, /^\[-\]etcd failed: reason withheld$/m);
    assert.equal((await ask(server, { path: "/readyz/etcd" })).code, 500);
    assert.equal((await ask(server, { path: "/readyz/ping" })).text, "ok");

    await etcd.start(0);
    await eventually(async () => (await ask(server, { path: "/readyz" })).code === 200);
    assert.equal((await ask(server, { path: `${CONFIG_MAPS}/before` })).code, 200);
    assert.equal((await create(server, "after")).code, 201);
    await eventually(() => received.includes("after")); // in the watch that was open all the time
    assert.deepEqual(
      received.filter((name) => name !== "kube-root-ca.crt"),
      ["before", "after"],
    );
    life.abort();
    await watching;
  });
});

/** Names as they are added; one watch, which is not begun again. */
async function watch(
  server: TestServer,
  onName: (name: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const events of server.client.watch(configMapKind, { namespace: "default" }, signal)) {
    for (const event of events) {
      if (event.type === "ADDED") onName(event.object.metadata.name ?? "");
    }
  }
}

function versionOf({ metadata }: { metadata: { resourceVersion: string } }): number {
  return Number(metadata.resourceVersion);
}

async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > untilMs) throw new Error("it never was so");
    await sleep(20);
  }
}
