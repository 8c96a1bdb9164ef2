/** The official JavaScript client over real HTTPS. */
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import {
  ApiException,
  AppsV1Api,
  AuthenticationV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
  type V1ConfigMap,
  type V1Deployment,
  type V1Status,
  Watch,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startTestServer, type TestServer } from "./test-server.ts";

let server: TestServer;
let config: KubeConfig;
let core: CoreV1Api;

beforeAll(async () => {
  server = await startTestServer({ tokens: "secret-of-jane,jane,1001\n" });
  config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** The same cluster, as someone who has a token. */
function withToken(token: string): KubeConfig {
  const other = new KubeConfig();
  other.loadFromClusterAndUser(config.getCurrentCluster()!, { name: "token", token });
  return other;
}

async function makeNamespace(name: string): Promise<string> {
  await core.createNamespace({ body: { metadata: { name } } });
  return name;
}

async function makeConfigMaps(namespace: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });
  }
}

/** The client leaves the body of a 401 out. */
async function refusalOf(work: Promise<unknown>): Promise<{ code: number; status: V1Status }> {
  const error = await work.then(
    () => assert.fail("it should have been refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiException, String(error));
  return {
    code: error.code,
    status: JSON.parse((error.body as string | undefined) ?? "{}") as V1Status,
  };
}

/** Resolves as soon as the condition holds; asked again whenever `poke` is called. */
function waiting(condition: () => boolean): { poke(): void; done: Promise<void> } {
  let resolve: () => void;
  const done = new Promise<void>((r) => {
    resolve = r;
  });
  return { poke: () => void (condition() && resolve()), done };
}

describe("@kubernetes/client-node: CoreV1Api", () => {
  test("a ConfigMap is created, read, replaced and deleted", async () => {
    const namespace = await makeNamespace("crud");
    const made = await core.createNamespacedConfigMap({
      namespace,
      body: { metadata: { generateName: "c-", labels: { a: "b" } }, data: { k: "v" } },
    });
    assert.match(made.metadata!.name!, /^c-\w{5}$/);
    assert.ok(made.metadata!.creationTimestamp instanceof Date);
    const name = made.metadata!.name!;
    const read = await core.readNamespacedConfigMap({ namespace, name });
    assert.deepEqual(read, made);
    const replaced = await core.replaceNamespacedConfigMap({
      namespace,
      name,
      body: { ...read, data: { k: "w" } },
    });
    assert.deepEqual(replaced.data, { k: "w" });
    assert.notEqual(replaced.metadata!.resourceVersion, read.metadata!.resourceVersion);
    const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: "a=b" });
    assert.deepEqual(
      items.map(({ metadata }) => metadata!.name),
      [name],
    );
    const status = await core.deleteNamespacedConfigMap({ namespace, name });
    assert.equal(status.status, "Success");
    const { code } = await refusalOf(core.readNamespacedConfigMap({ namespace, name }));
    assert.equal(code, 404);
  });

  test("a list in pages is of one revision", async () => {
    const namespace = await makeNamespace("pages");
    const names = ["a", "b", "c", "d", "e"];
    await makeConfigMaps(namespace, names);
    const seen: string[] = [];
    const revisions = new Set<string>();
    let next: string | undefined;
    do {
      const page = await core.listNamespacedConfigMap({
        namespace,
        limit: 2,
        ...(next === undefined ? {} : { _continue: next }),
      });
      for (const { metadata } of page.items) seen.push(metadata!.name!);
      revisions.add(page.metadata!.resourceVersion!);
      next = page.metadata!._continue;
      await makeConfigMaps(namespace, [`z-${seen.length}`]); // must not show up
    } while (next !== undefined && next !== "");
    assert.deepEqual(seen, names);
    assert.equal(revisions.size, 1);
  });

  test("every type of patch", async () => {
    const namespace = await makeNamespace("patches");
    const apps = config.makeApiClient(AppsV1Api);
    const labels = { app: "web" };
    const body: V1Deployment = {
      metadata: { name: "web" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "one", image: "one:1" }] },
        },
      },
    };
    await apps.createNamespacedDeployment({ namespace, body });
    const patch = (type: PatchStrategy, document: object, force = false) =>
      apps.patchNamespacedDeployment(
        {
          namespace,
          name: "web",
          body: document,
          ...(force ? { fieldManager: "test", force } : {}),
        },
        setHeaderOptions("Content-Type", type),
      );
    await patch(PatchStrategy.JsonPatch, [{ op: "replace", path: "/spec/replicas", value: 3 }]);
    await patch(PatchStrategy.MergePatch, { metadata: { labels: { merged: "yes" } } });
    await patch(PatchStrategy.StrategicMergePatch, {
      spec: { template: { spec: { containers: [{ name: "two", image: "two:1" }] } } },
    });
    const after = await patch(
      PatchStrategy.ServerSideApply,
      { apiVersion: "apps/v1", kind: "Deployment", metadata: { labels: { applied: "yes" } } },
      true,
    );
    assert.equal(after.spec!.replicas, 3);
    assert.deepEqual(after.metadata!.labels, { merged: "yes", applied: "yes" });
    assert.deepEqual(after.spec!.template.spec!.containers.map(({ name }) => name).sort(), [
      "one",
      "two",
    ]);
    const wrong = patch(PatchStrategy.JsonPatch, [
      { op: "test", path: "/spec/replicas", value: 9 },
    ]);
    assert.equal((await refusalOf(wrong)).code, 422);
  });

  test("refusals are ApiExceptions with the server's Status", async () => {
    const namespace = await makeNamespace("refusals");
    await makeConfigMaps(namespace, ["there"]);
    const again = core.createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: "there" } },
    });
    const exists = await refusalOf(again);
    assert.equal(exists.code, 409);
    assert.equal(exists.status.reason, "AlreadyExists");
    assert.deepEqual(exists.status.details, { name: "there", kind: "configmaps" });
    const stale = core.replaceNamespacedConfigMap({
      namespace,
      name: "there",
      body: { metadata: { name: "there", resourceVersion: "1" } },
    });
    assert.equal((await refusalOf(stale)).status.reason, "Conflict");
    const invalid = core.createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: "Not A Name" } },
    });
    const { code, status } = await refusalOf(invalid);
    assert.equal(code, 422);
    assert.equal(status.details!.causes![0]!.field, "metadata.name");
  });
});

describe("watches", () => {
  test("go on where they were after the connection was cut", async () => {
    const namespace = await makeNamespace("cut");
    await using proxy = await startProxy(server.port);
    const through = new KubeConfig();
    through.loadFromFile(server.kubeconfig);
    const cluster = through.getCurrentCluster()!;
    through.loadFromClusterAndUser(
      { ...cluster, server: `https://127.0.0.1:${proxy.port}` },
      through.getCurrentUser()!,
    );
    const seen: string[] = [];
    let revision = (await core.listNamespacedConfigMap({ namespace })).metadata!.resourceVersion!;
    const wanted = ["a", "b", "c", "d"].map((name) => `ADDED ${name}`);
    const all = waiting(() => seen.length >= wanted.length);
    let stopped = false;
    let watch: AbortController | undefined;
    let cuts = 0;
    const begin = async (): Promise<void> => {
      watch = await new Watch(through).watch(
        `/api/v1/namespaces/${namespace}/configmaps`,
        { resourceVersion: revision },
        (type, object: V1ConfigMap) => {
          revision = object.metadata!.resourceVersion!;
          seen.push(`${type} ${object.metadata!.name}`);
          all.poke();
          if (seen.length % 2 === 1) {
            cuts += 1;
            proxy.cut();
          }
        },
        () => void (stopped || begin()),
      );
    };
    await begin();
    await makeConfigMaps(namespace, ["a", "b", "c", "d"]);
    await all.done;
    stopped = true;
    watch?.abort();
    assert.deepEqual(seen, wanted);
    assert.ok(cuts >= 2);
  });

  test("a watch of a revision that is gone says 410", async () => {
    const namespace = await makeNamespace("gone");
    await server.restart(); // which leaves nothing in the window
    await new Promise<void>((resolve, reject) => {
      new Watch(config)
        .watch(
          `/api/v1/namespaces/${namespace}/configmaps`,
          { resourceVersion: "1" },
          (type, status: V1Status) => {
            try {
              assert.equal(type, "ERROR");
              assert.equal(status.code, 410);
              assert.equal(status.reason, "Expired");
              resolve();
            } catch (error) {
              reject(error);
            }
          },
          () => reject(new Error("ended without an event")),
        )
        .catch(reject);
    });
  });

  test("an informer misses nothing while the server is restarted", async () => {
    const namespace = await makeNamespace("informed");
    await makeConfigMaps(namespace, ["kept", "doomed"]);
    const log: string[] = [];
    const informer = makeInformer<V1ConfigMap>(
      config,
      `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({ namespace }),
    );
    let condition: () => boolean = () => false;
    let resolve: () => void = () => undefined;
    const until = (wanted: () => boolean): Promise<void> => {
      condition = wanted;
      return new Promise((r) => {
        resolve = r;
        if (condition()) r();
      });
    };
    for (const verb of ["add", "update", "delete"] as const) {
      informer.on(verb, (object) => {
        log.push(`${verb} ${object.metadata!.name}`);
        if (condition()) resolve();
      });
    }
    let stopped = false;
    informer.on("error", () => {
      if (!stopped) setTimeout(() => void informer.start(), 20);
    });
    await informer.start();
    await until(() => log.length >= 2);
    await server.restart();
    await makeConfigMaps(namespace, ["new"]);
    await core.deleteNamespacedConfigMap({ namespace, name: "doomed" });
    const body = { metadata: { name: "kept" }, data: { changed: "yes" } };
    await core.replaceNamespacedConfigMap({ namespace, name: "kept", body });
    await until(() => ["add new", "delete doomed", "update kept"].every((e) => log.includes(e)));
    stopped = true;
    await informer.stop();
    assert.deepEqual(
      log.filter((entry) => entry === "add new" || entry === "delete doomed").sort(),
      ["add new", "delete doomed"],
    );
    assert.deepEqual(informer.get("kept", namespace)?.data, { changed: "yes" });
    assert.deepEqual(
      informer.list(namespace).map(({ metadata }) => metadata!.name),
      ["kept", "new"],
    );
  });
});

describe("users", () => {
  const whoIs = async (who: KubeConfig): Promise<string | undefined> => {
    const review = await who
      .makeApiClient(AuthenticationV1Api)
      .createSelfSubjectReview({ body: {} });
    return review.status?.userInfo?.username;
  };

  test("extension-apiserver-authentication publishes the client CA and the front-proxy settings", async () => {
    const { data } = await core.readNamespacedConfigMap({
      namespace: "kube-system",
      name: "extension-apiserver-authentication",
    });
    assert.match(data!["client-ca-file"]!, /^-----BEGIN CERTIFICATE-----/);
    assert.match(data!["requestheader-client-ca-file"]!, /^-----BEGIN CERTIFICATE-----/);
    assert.equal(data!["requestheader-allowed-names"], '["front-proxy-client"]');
    assert.equal(data!["requestheader-username-headers"], '["X-Remote-User"]');
  });

  test("a client certificate, a token, a service account's token", async () => {
    const namespace = await makeNamespace("users");
    assert.equal(await whoIs(config), "kubernetes-admin");
    assert.equal(await whoIs(withToken("secret-of-jane")), "jane");
    await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: "robot" } } });
    const { status } = await core.createNamespacedServiceAccountToken({
      namespace,
      name: "robot",
      body: { spec: { audiences: [], expirationSeconds: 600 } },
    });
    const robot = withToken(status!.token!);
    assert.equal(await whoIs(robot), `system:serviceaccount:${namespace}:robot`);
    await core.deleteNamespacedServiceAccount({ namespace, name: "robot" });
    assert.equal((await refusalOf(whoIs(robot))).code, 401);
    assert.equal((await refusalOf(whoIs(withToken("wrong")))).code, 401);
  });

  test("may do what a role says, and nothing else", async () => {
    const namespace = await makeNamespace("roles");
    const jane = withToken("secret-of-jane").makeApiClient(CoreV1Api);
    const denied = await refusalOf(jane.listNamespacedConfigMap({ namespace }));
    assert.equal(denied.code, 403);
    assert.equal(
      denied.status.message,
      `configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`,
    );
    const rbac = config.makeApiClient(RbacAuthorizationV1Api);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    await rbac.createNamespacedRole({ namespace, body: { metadata: { name: "lists" }, rules } });
    await rbac.createNamespacedRoleBinding({
      namespace,
      body: {
        metadata: { name: "lists" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "lists" },
        subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
      },
    });
    await jane.listNamespacedConfigMap({ namespace });
    const write = jane.createNamespacedConfigMap({ namespace, body: { metadata: { name: "x" } } });
    assert.equal((await refusalOf(write)).code, 403);
  });
});

interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Ends every connection that goes through it. */
  cut(): void;
}

async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  };
  const proxy = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    keep(client);
    keep(upstream);
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
