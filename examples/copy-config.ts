/**
 * A controller of one's own: ConfigMaps in the namespace `default` that carry the label
 * `example.com/copy=everywhere` are copied into every namespace and kept equal there.
 *
 *     npm install k8ts tsx && npx tsx copy-config.ts ~/.k8ts/kubeconfig
 */
import { fileURLToPath } from "node:url";
import {
  type Caches,
  create,
  defineController,
  idle,
  type Key,
  type KubeObject,
  type Outcome,
  ownKey,
  resource,
  runController,
  update,
} from "k8ts/controller";

/** As much of the kinds as matters here. */
interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

const configMaps = resource<ConfigMap>("v1", "ConfigMap", "configmaps");
const namespaces = resource<Namespace>("v1", "Namespace", "namespaces", "Cluster");

const SOURCE = "default";
const LABEL = "example.com/copy";

interface State {
  readonly source: ConfigMap;
  /** Every other namespace that stays, with the copy that is there. */
  readonly targets: readonly { readonly namespace: string; readonly copy: ConfigMap | undefined }[];
}

export const copyConfig = defineController<State | undefined>({
  name: "copy-config",
  feeds: [
    // A changed copy queues its source, which has the same name.
    {
      kind: configMaps,
      keys: ({ metadata }: ConfigMap) => [{ namespace: SOURCE, name: metadata.name ?? "" }],
    },
    // A new namespace concerns every source.
    { kind: namespaces, keys: (_: Namespace, caches) => sources(caches).flatMap(ownKey) },
  ],
  observe: (caches, key) => observe(caches, key),
  decide: (state) => (state === undefined ? idle : decide(state)),
});

function sources(caches: Caches): readonly ConfigMap[] {
  return [...caches(configMaps).list(SOURCE)].filter(
    ({ metadata }) => metadata.labels?.[LABEL] === "everywhere",
  );
}

function observe(caches: Caches, { name }: Key): State | undefined {
  const source = sources(caches).find(({ metadata }) => metadata.name === name);
  if (source === undefined) return undefined;
  const targets = [...caches(namespaces).list()]
    .filter(({ metadata, status }) => metadata.name !== SOURCE && status?.phase !== "Terminating")
    .map(({ metadata: { name: namespace = "" } }) => ({
      namespace,
      copy: caches(configMaps).get(namespace, name),
    }));
  return { source, targets };
}

/** Pure: the same state always gives the same writes. */
export function decide({ source, targets }: State): Outcome {
  const { data = {} } = source;
  const { name = "" } = source.metadata;
  return {
    writes: targets.flatMap(({ namespace, copy }) => {
      if (copy === undefined) {
        return [
          create(configMaps, {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { namespace, name },
            data,
          }),
        ];
      }
      const isEqual = JSON.stringify(copy.data ?? {}) === JSON.stringify(data);
      return isEqual ? [] : [update(configMaps, { ...copy, data })];
    }),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort());
  const kubeconfig = process.argv[2];
  await runController([copyConfig], {
    signal: controller.signal,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
}
