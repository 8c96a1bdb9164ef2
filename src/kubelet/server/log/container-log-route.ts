/** `/containerLogs/NAMESPACE/POD/CONTAINER`. */
import { goQuote } from "#api/meta/go-quote.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { jsonAnswer, type KubeletAnswer, textAnswer } from "../answer.ts";
import { type KubeletView, podNamed } from "../kubelet-view.ts";
import { hasContainer, logContainer } from "./log-container.ts";
import { parseLogOptions } from "./log-options.ts";
import { readContainerLog } from "./read-container-log.ts";

/** `ContainerState` of CRI. */
const RUNNING = 1;

export async function containerLogRoute(
  view: KubeletView,
  [namespace = "", name = "", container = ""]: readonly string[],
  query: URLSearchParams,
  clock: Clock,
  signal: AbortSignal,
): Promise<KubeletAnswer> {
  const parsed = parseLogOptions(query, clock.nowMs());
  if (!parsed.ok) return jsonAnswer({ message: parsed.message }, parsed.code);
  const { options } = parsed;
  const pod = podNamed(view, namespace, name);
  if (pod === undefined) return textAnswer(404, `pod ${goQuote(name)} does not exist\n`);
  if (!hasContainer(pod, container)) {
    return textAnswer(404, `container ${goQuote(container)} not found in pod ${goQuote(name)}\n`);
  }
  const chosen = logContainer(pod, container, options.previous);
  if (!chosen.ok) return textAnswer(400, chosen.message);
  const { containerId } = chosen;
  const status = async () => (await view.cri.runtime.containerStatus({ containerId })).status;
  try {
    const path = (await status())?.logPath ?? "";
    if (path === "") return textAnswer(400, `container ${goQuote(container)} has no log`);
    const isRunning = async (): Promise<boolean> =>
      status().then(
        (now) => now?.state === RUNNING,
        () => false, // it was removed
      );
    return {
      form: "stream",
      chunks: readContainerLog({ path, options, isRunning, clock, signal, mover: view.lineMover }),
    };
  } catch (error) {
    return textAnswer(400, messageOf(error));
  }
}
