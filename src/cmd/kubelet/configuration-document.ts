/** The configuration in force as a KubeletConfiguration: what `/configz` shows. Pure. */
import { formatDuration } from "#api/meta/duration.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { CONFIGURATION_FIELDS } from "./configuration-fields.ts";

export function configurationDocument(config: KubeletConfig): object {
  const fields = Object.entries(CONFIGURATION_FIELDS).flatMap(([name, { type, sets }]) => {
    if (sets === undefined) return [];
    const value = config[sets];
    const shown =
      type === "duration" ? formatDuration(BigInt(Math.round(Number(value) * 1e6))) : value;
    return [[name, shown]];
  });
  return {
    ...Object.fromEntries(fields),
    kind: "KubeletConfiguration",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
  };
}
