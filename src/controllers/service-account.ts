/** Every active namespace has a ServiceAccount named default. */

import type { Namespace, ServiceAccount } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { defineController, idle, type Outcome, ownKey } from "#runtime/controller.ts";
import { create } from "#runtime/writes.ts";

const NAME = "default";

interface State {
  readonly namespace: Namespace | undefined;
  readonly account: ServiceAccount | undefined;
}

export const serviceAccountController = defineController<State>({
  name: "serviceaccount-controller",
  rule: "every namespace has its default ServiceAccount",
  feeds: [
    { kind: namespaceKind, keys: ownKey },
    {
      kind: serviceAccountKind,
      keys: ({ metadata }: ServiceAccount) =>
        metadata.name === NAME ? [{ name: metadata.namespace ?? "" }] : [],
    },
  ],
  observe: (caches, { name }) => ({
    namespace: caches(namespaceKind).get(undefined, name),
    account: caches(serviceAccountKind).get(name, NAME),
  }),
  decide,
});

function decide({ namespace, account }: State): Outcome {
  if (namespace === undefined || namespace.status.phase === "Terminating") return idle;
  if (namespace.metadata.deletionTimestamp !== undefined || account !== undefined) return idle;
  const object: ServiceAccount = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { namespace: namespace.metadata.name ?? "", name: NAME },
  };
  return { writes: [create(serviceAccountKind, object)] };
}
