/** Every namespace has the cluster's root certificate in a ConfigMap, for pods to trust the API server by. */

import type { ConfigMap, Namespace } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import {
  type Controller,
  defineController,
  idle,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, update } from "#runtime/writes.ts";
import { measureRootCertificates } from "./metrics/services.ts";

const NAME = "kube-root-ca.crt";
const DESCRIPTION = "kubernetes.io/description";
const DESCRIPTION_TEXT =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
  "No other usage is guaranteed across distributions of Kubernetes clusters.";

interface State {
  readonly namespace: Namespace | undefined;
  readonly published: ConfigMap | undefined;
}

export function rootCaCertPublisher(rootCa: string): Controller<State> {
  return defineController<State>({
    name: "root-ca-certificate-publisher-controller",
    rule: "every namespace has the ConfigMap with the root certificate",
    feeds: [
      { kind: namespaceKind, keys: ownKey },
      {
        kind: configMapKind,
        keys: ({ metadata }: ConfigMap) =>
          metadata.name === NAME ? [{ name: metadata.namespace ?? "" }] : [],
      },
    ],
    observe: (caches, { name }) => ({
      namespace: caches(namespaceKind).get(undefined, name),
      published: caches(configMapKind).get(name, NAME),
    }),
    decide: (state) => decide(state, rootCa),
    measure: measureRootCertificates,
  });
}

function decide({ namespace, published }: State, rootCa: string): Outcome {
  if (namespace === undefined || namespace.status.phase === "Terminating") return idle;
  if (namespace.metadata.deletionTimestamp !== undefined) return idle;
  const data = { "ca.crt": rootCa };
  if (published === undefined) {
    const object: ConfigMap = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace: namespace.metadata.name ?? "",
        name: NAME,
        annotations: { [DESCRIPTION]: DESCRIPTION_TEXT },
      },
      data,
    };
    return { writes: [create(configMapKind, object)] };
  }
  const { annotations } = published.metadata;
  const keys = Object.keys(published.data ?? {});
  const isRight = published.data?.["ca.crt"] === rootCa && keys.length === 1;
  if (isRight && annotations?.[DESCRIPTION] === DESCRIPTION_TEXT) return idle;
  const metadata = {
    ...published.metadata,
    annotations: { ...annotations, [DESCRIPTION]: DESCRIPTION_TEXT },
  };
  return { writes: [update(configMapKind, { ...published, metadata, data })] };
}
