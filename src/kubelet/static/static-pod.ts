/** A pod from a manifest of the node: read, defaulted, and given the name and uid that it has here. */
import { createHash } from "node:crypto";
import { decodeYaml } from "#api/codec/yaml.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";

const CONFIG_HASH = "kubernetes.io/config.hash";
const CONFIG_MIRROR = "kubernetes.io/config.mirror";
const CONFIG_SOURCE = "kubernetes.io/config.source";
const CONFIG_SEEN = "kubernetes.io/config.seen";

export type StaticPodResult =
  | { readonly ok: true; readonly pod: Pod }
  | { readonly ok: false; readonly why: string };

export interface StaticPodOrigin {
  readonly nodeName: string;
  readonly source: "file" | "http";
  /** Path or URL. */
  readonly from: string;
  /** When it was first read. */
  readonly seen: string;
}

export function readStaticPod(text: string, origin: StaticPodOrigin): StaticPodResult {
  const decoded = decodeYaml(podKind.schema(), text);
  if (!decoded.ok) return { ok: false, why: `couldn't parse as pod(${decoded.error})` };
  const hash = createHash("md5")
    .update(JSON.stringify(decoded.value))
    .update(`host:${origin.nodeName}${origin.source}:${origin.from}`)
    .digest("hex");
  // The schema has checked every field; the object is new and ours to change.
  const draft = decoded.value as Draft<Pod>;
  if (draft.kind !== "Pod" || !draft.metadata?.name) {
    return { ok: false, why: "couldn't parse as pod: it has no kind Pod or no name" };
  }
  podKind.defaults?.(draft);
  const { nodeName, source, seen } = origin;
  const { metadata, spec } = draft;
  const { nodeName: _, ...rest } = spec;
  const pod: Pod = {
    ...draft,
    metadata: {
      ...metadata,
      name: `${metadata.name ?? ""}-${nodeName}`,
      namespace: metadata.namespace || "default",
      uid: metadata.uid || hash,
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH]: hash,
        [CONFIG_SEEN]: seen,
        [CONFIG_SOURCE]: source,
      },
    },
    spec: {
      ...rest,
      nodeName,
      tolerations: [...(spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
    },
    status: { phase: "Pending" },
  };
  return { ok: true, pod };
}

/** The object that shows a static pod in the API. */
export function mirrorOf(pod: Pod, nodeUid: string): Pod {
  const { uid: _, ...metadata } = pod.metadata;
  const owner = {
    apiVersion: "v1",
    kind: "Node",
    name: pod.spec.nodeName ?? "",
    uid: nodeUid,
    controller: true,
  };
  return {
    ...pod,
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [CONFIG_MIRROR]: hashOf(pod) },
      ownerReferences: [owner],
    },
    status: {},
  };
}

export function sourceOf({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[CONFIG_SOURCE];
}

export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return mirror.metadata.annotations?.[CONFIG_MIRROR] === hashOf(pod);
}

export function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[CONFIG_MIRROR] !== undefined;
}

function hashOf({ metadata }: Pod): string {
  return metadata.annotations?.[CONFIG_HASH] ?? "";
}
