/** Prefers nodes that have the pod's images, large and widespread ones most. */
import { definePlugin, type PluginFactory, SKIP } from "#scheduler/plugin.ts";
import { normalizedImageName } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { SCORE_MAX } from "./normalize-scores.ts";

const MEBIBYTE = 1024 * 1024;
const THRESHOLD_MIN = 23 * MEBIBYTE;
const THRESHOLD_MAX_PER_CONTAINER = 1000 * MEBIBYTE;

interface State {
  /** Bytes that count for each image of the pod that some node has. */
  readonly weights: readonly (readonly [image: string, bytes: number])[];
  readonly containers: number;
}

export const imageLocality: PluginFactory = {
  name: "ImageLocality",
  create: () =>
    definePlugin<undefined, State>({
      name: "ImageLocality",
      preScore: (pod, _nodes, snapshot) => {
        const weights = weightsOf(pod, snapshot);
        if (weights.length === 0) return SKIP; // every node would get 0
        const { containers, initContainers } = pod.pod.spec;
        const count = (containers?.length ?? 0) + (initContainers?.length ?? 0);
        return { skip: false, state: { weights, containers: count } };
      },
      score: ({ weights, containers }, _pod, { images }) => {
        let sum = 0;
        for (const [image, bytes] of weights) if (images.has(image)) sum += bytes;
        const most = THRESHOLD_MAX_PER_CONTAINER * containers;
        const within = Math.min(Math.max(sum, THRESHOLD_MIN), most);
        return Math.trunc((SCORE_MAX * (within - THRESHOLD_MIN)) / (most - THRESHOLD_MIN));
      },
    }),
};

function weightsOf({ pod }: PodInfo, snapshot: Snapshot): State["weights"] {
  const { containers, initContainers, volumes } = pod.spec;
  const names = [...(initContainers ?? []), ...(containers ?? [])].map(({ image = "" }) => image);
  for (const { image } of volumes ?? []) if (image !== undefined) names.push(image.reference ?? "");
  return names.flatMap((name) => {
    const image = normalizedImageName(name);
    const state = snapshot.image(image);
    if (state === undefined) return [];
    const spread = state.nodes / snapshot.nodes.length;
    return [[image, Math.trunc(state.sizeBytes * spread)] as const];
  });
}
