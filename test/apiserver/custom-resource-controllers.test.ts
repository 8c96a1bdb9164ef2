/** Controllers of others that manage a custom resource with a finalizer, over real HTTPS. */
import assert from "node:assert/strict";
import {
  ApiextensionsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  type V1CustomResourceDefinition,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import {
  create,
  defineController,
  idle,
  type KubeObject,
  type Outcome,
  ownKey,
  patch,
  remove,
  resource,
  runController,
} from "#entries/controller.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const GROUP = "example.com";
const FINALIZER = "example.com/archive";
const NAMESPACE = "default";
const WITHIN = { timeout: 30_000, interval: 20 };

interface Backup extends KubeObject {
  readonly spec: { readonly source: string };
  readonly status?: { readonly phase?: string };
}
interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

let server: TestServer;
let custom: CustomObjectsApi;
let core: CoreV1Api;
let extensions: ApiextensionsV1Api;
let config: KubeConfig;

beforeAll(async () => {
  server = await startTestServer();
  config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  custom = config.makeApiClient(CustomObjectsApi);
  core = config.makeApiClient(CoreV1Api);
  extensions = config.makeApiClient(ApiextensionsV1Api);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

function definition(plural: string, kind: string): V1CustomResourceDefinition {
  const text = { type: "string" };
  return {
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", properties: { source: text }, required: ["source"] },
                status: { type: "object", properties: { phase: text } },
              },
            },
          },
        },
      ],
    },
  };
}

async function define(plural: string, kind: string): Promise<void> {
  await extensions.createCustomResourceDefinition({ body: definition(plural, kind) });
  await vi.waitFor(async () => {
    const found = await extensions.readCustomResourceDefinition({ name: `${plural}.${GROUP}` });
    const isServed = found.status?.conditions?.some(
      ({ type, status }) => type === "Established" && status === "True",
    );
    assert.equal(isServed, true);
  }, WITHIN);
}

function at(plural: string) {
  return { group: GROUP, version: "v1", namespace: NAMESPACE, plural };
}

async function make(plural: string, kind: string, name: string): Promise<void> {
  const body = { apiVersion: `${GROUP}/v1`, kind, metadata: { name }, spec: { source: "disk" } };
  await custom.createNamespacedCustomObject({ ...at(plural), body });
}

async function read(plural: string, name: string): Promise<Backup> {
  return await custom.getNamespacedCustomObject({ ...at(plural), name });
}

async function isGone(asked: Promise<unknown>): Promise<boolean> {
  return await asked.then(
    () => false,
    (error: { code?: number }) => error.code === 404,
  );
}

/** The life of an object under either controller, from its creation to the deletion of its definition. */
async function managedFromCreationToDeletion(
  plural: string,
  kind: string,
  restartController: () => Promise<void>,
): Promise<void> {
  const archive = { namespace: NAMESPACE, name: `${plural}-a` };
  await make(plural, kind, "a");
  await vi.waitFor(async () => {
    const { metadata, status } = await read(plural, "a");
    assert.deepEqual([metadata.finalizers, status?.phase], [[FINALIZER], "Archived"]);
  }, WITHIN);
  assert.deepEqual((await core.readNamespacedConfigMap(archive)).data, { source: "disk" });

  // Both the server and the controller are gone for a while; the deletion is not forgotten.
  await restartController();
  await custom.deleteNamespacedCustomObject({ ...at(plural), name: "a" });
  await vi.waitFor(
    async () =>
      assert.ok(await isGone(custom.getNamespacedCustomObject({ ...at(plural), name: "a" }))),
    WITHIN,
  );
  assert.ok(
    await isGone(core.readNamespacedConfigMap(archive)),
    "the archive goes before the object",
  );

  await make(plural, kind, "b");
  await vi.waitFor(async () => {
    assert.deepEqual((await read(plural, "b")).metadata.finalizers, [FINALIZER]);
  }, WITHIN);
  await extensions.deleteCustomResourceDefinition({ name: `${plural}.${GROUP}` });
  await vi.waitFor(
    async () =>
      assert.ok(
        await isGone(extensions.readCustomResourceDefinition({ name: `${plural}.${GROUP}` })),
      ),
    WITHIN,
  );
  assert.ok(await isGone(core.readNamespacedConfigMap({ ...archive, name: `${plural}-b` })));
}

describe("a custom resource with a finalizer", () => {
  test("is managed by a controller of k8ts/controller, through a restart and the deletion of its CustomResourceDefinition", async () => {
    const plural = "backups";
    await define(plural, "Backup");
    let life = new AbortController();
    const start = (): Promise<void> =>
      runController([archiver(plural, "Backup")], {
        kubeconfig: server.kubeconfig,
        signal: life.signal,
      });
    let running = start();
    try {
      await managedFromCreationToDeletion(plural, "Backup", async () => {
        life.abort();
        await running;
        await server.restart();
        life = new AbortController();
        running = start();
      });
    } finally {
      life.abort();
      await running;
    }
  }, 120_000);

  test("is managed by an informer and CustomObjectsApi of @kubernetes/client-node, through a restart and the deletion of its CustomResourceDefinition", async () => {
    const plural = "exports";
    await define(plural, "Export");
    let controller = await startWithClientNode(plural);
    try {
      await managedFromCreationToDeletion(plural, "Export", async () => {
        await controller[Symbol.asyncDispose]();
        await server.restart();
        controller = await startWithClientNode(plural);
      });
    } finally {
      await controller[Symbol.asyncDispose]();
    }
  }, 120_000);
});

/** Keeps a ConfigMap for each object; the finalizer holds the object until its ConfigMap is deleted. */
function archiver(plural: string, kind: string) {
  const backups = resource<Backup>(`${GROUP}/v1`, kind, plural);
  const configMaps = resource<ConfigMap>("v1", "ConfigMap", "configmaps");
  const nameOf = (backup: string): string => `${plural}-${backup}`;
  return defineController<{ backup: Backup; archive: ConfigMap | undefined } | undefined>({
    name: "archiver",
    rule: "each Backup has an archive as long as it is not deleted",
    feeds: [
      { kind: backups, keys: ownKey },
      {
        kind: configMaps,
        keys: ({ metadata: { namespace = "", name = "" } }: ConfigMap) =>
          name.startsWith(nameOf("")) ? [{ namespace, name: name.slice(nameOf("").length) }] : [],
      },
    ],
    observe: (caches, { namespace, name }) => {
      const backup = caches(backups).get(namespace, name);
      const archive = caches(configMaps).get(namespace, nameOf(name));
      return backup && { backup, archive };
    },
    decide: (state): Outcome => {
      if (state === undefined) return idle;
      const { backup, archive } = state;
      const { metadata, spec, status } = backup;
      const { name = "", namespace = "", finalizers = [], deletionTimestamp } = metadata;
      const isHeld = finalizers.includes(FINALIZER);
      if (deletionTimestamp !== undefined) {
        if (archive !== undefined) return { writes: [remove(configMaps, archive)] };
        const others = finalizers.filter((one) => one !== FINALIZER);
        const released = patch(backups, backup, "merge", { metadata: { finalizers: others } });
        return isHeld ? { writes: [released] } : idle;
      }
      if (!isHeld) {
        const held = { metadata: { finalizers: [...finalizers, FINALIZER] } };
        return { writes: [patch(backups, backup, "merge", held)] };
      }
      if (archive === undefined) {
        const about = { apiVersion: "v1", kind: "ConfigMap" };
        const data = { source: spec.source };
        const made = { ...about, metadata: { namespace, name: nameOf(name) }, data };
        return { writes: [create(configMaps, made)] };
      }
      if (status?.phase === "Archived") return idle;
      const archived = { status: { phase: "Archived" } };
      return { writes: [patch(backups, backup, "merge", archived, "status")] };
    },
  });
}

type Listed = KubernetesListObject<KubernetesObject>;

/** The same with upstream's JavaScript client: events are worked on one after the other, failures again. */
async function startWithClientNode(plural: string): Promise<AsyncDisposable> {
  const path = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/${plural}`;
  const list = (): Promise<Listed> =>
    custom.listNamespacedCustomObject(at(plural)) as Promise<Listed>;
  const informer = makeInformer<KubernetesObject>(config, path, list);
  let isOver = false;
  let last = Promise.resolve();
  const look = (name: string): void => {
    last = last.then(async () => {
      if (isOver) return;
      await archive(plural, name).catch(() => void setTimeout(() => look(name), 50));
    });
  };
  for (const verb of ["add", "update"] as const) {
    informer.on(verb, ({ metadata }) => look(metadata?.name ?? ""));
  }
  informer.on("error", () => {
    if (!isOver) setTimeout(() => void informer.start().catch(() => undefined), 50);
  });
  await informer.start();
  return {
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await informer.stop();
      await last;
    },
  };
}

async function archive(plural: string, name: string): Promise<void> {
  const found = await read(plural, name).catch((error: { code?: number }) => {
    if (error.code === 404) return undefined;
    throw error;
  });
  if (found === undefined) return;
  const { finalizers = [], deletionTimestamp } = found.metadata;
  const configMap = { namespace: NAMESPACE, name: `${plural}-${name}` };
  const place = { ...at(plural), name };
  if (deletionTimestamp !== undefined) {
    if (!(await isGone(core.readNamespacedConfigMap(configMap)))) {
      await core.deleteNamespacedConfigMap(configMap);
    }
    const metadata = { ...found.metadata, finalizers: finalizers.filter((o) => o !== FINALIZER) };
    await custom.replaceNamespacedCustomObject({ ...place, body: { ...found, metadata } });
    return;
  }
  if (!finalizers.includes(FINALIZER)) {
    const metadata = { ...found.metadata, finalizers: [...finalizers, FINALIZER] };
    await custom.replaceNamespacedCustomObject({ ...place, body: { ...found, metadata } });
    return;
  }
  if (await isGone(core.readNamespacedConfigMap(configMap))) {
    const body = { metadata: { name: configMap.name }, data: { source: found.spec.source } };
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body });
  }
  if (found.status?.phase === "Archived") return;
  const body = { ...found, status: { phase: "Archived" } };
  await custom.replaceNamespacedCustomObjectStatus({ ...place, body });
}
