/** POST `/checkpoint/NAMESPACE/POD/CONTAINER`: the runtime writes the container's state to a file. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { timeFromMs } from "#api/meta/time.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { jsonAnswer, type KubeletAnswer, textAnswer } from "./answer.ts";
import { type KubeletView, podNamed } from "./kubelet-view.ts";
import { hasContainer, logContainer } from "./log/log-container.ts";

export async function checkpointRoute(
  view: KubeletView,
  [namespace = "", name = "", container = ""]: readonly string[],
  query: URLSearchParams,
  clock: Clock,
): Promise<KubeletAnswer> {
  const pod = podNamed(view, namespace, name);
  if (pod === undefined) return textAnswer(404, "pod does not exist");
  if (!hasContainer(pod, container)) {
    return textAnswer(404, `container ${container} does not exist`);
  }
  const timeouts = query.getAll("timeout");
  const timeout = timeouts.length === 0 ? 0 : Number(timeouts.at(-1));
  if (!Number.isInteger(timeout)) {
    return textAnswer(404, "cannot parse value of timeout parameter");
  }
  const folder = join(view.rootFolder, "checkpoints");
  const file = `checkpoint-${name}_${namespace}-${container}-${timeFromMs(clock.nowMs())}.tar`;
  const location = join(folder, file);
  try {
    const running = logContainer(pod, container, false);
    if (!running.ok) throw new Error(running.message);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { containerId } = running;
    await view.cri.runtime.checkpointContainer({ containerId, location, timeout });
  } catch (error) {
    const why = messageOf(error);
    return textAnswer(500, `checkpointing of ${namespace}/${name}/${container} failed (${why})`);
  }
  return jsonAnswer({ items: [location] });
}
