/**
 * The authorities whose client certificates a component accepts: those that the API server publishes
 * in the ConfigMap kube-system/extension-apiserver-authentication, also when they are replaced.
 */

import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { Informer, type InformerOptions } from "#client/informer.ts";

type Surroundings = Pick<InformerOptions<ConfigMap>, "client" | "clock" | "random" | "logger">;

/** Lives until the signal aborts. */
export function followClientAuthorities(
  surroundings: Surroundings,
  onChange: (pem: string) => void,
  signal: AbortSignal,
): void {
  const informer = new Informer({
    ...surroundings,
    kind: configMapKind,
    namespace: "kube-system",
    fieldSelector: "metadata.name=extension-apiserver-authentication",
  });
  let last = "";
  informer.on(({ next }) => {
    const pem = next?.data?.["client-ca-file"] ?? "";
    if (pem === "" || pem === last) return;
    last = pem;
    onChange(pem);
  }, signal);
  void informer.run(signal);
}
