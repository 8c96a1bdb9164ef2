/** The configuration in force as a KubeletConfiguration: what `/configz` shows. Pure. */
import { formatDuration } from "#api/meta/duration.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { CONFIGURATION_FIELDS, type Fields } from "./configuration-fields.ts";

export function configurationDocument(config: KubeletConfig): object {
  return {
    ...documentOf(config, CONFIGURATION_FIELDS),
    kind: "KubeletConfiguration",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
  };
}

/** Fields that the kubelet acts on. */
function documentOf(config: KubeletConfig, fields: Fields): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [name, { type, sets }] of Object.entries(fields)) {
    if (typeof type !== "string") {
      const inner = documentOf(config, type.fields);
      if (Object.keys(inner).length > 0) document[name] = inner;
    } else if (sets !== undefined) {
      const value = config[sets];
      document[name] =
        type === "duration" ? formatDuration(BigInt(Math.round(Number(value) * 1e6))) : value;
    }
  }
  return document;
}
