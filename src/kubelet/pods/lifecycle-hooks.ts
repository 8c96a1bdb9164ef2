/** postStart and preStop: exec in the container, an HTTP request, or a pause. */
import type { Container, LifecycleHandler, Pod } from "#api/generated/core.v1.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import { httpGet, httpTarget } from "#kubelet/probes/http-get.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";

/** Hooks have no time limit of their own; this is longer than any pod's grace. */
const EXEC_TIMEOUT_MS = 24 * 3_600_000;

export interface HookTools {
  readonly clock: Clock;
  readonly runtime: Pick<RuntimeService, "execSync">;
}

export interface HookRun {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
  readonly handler: LifecycleHandler;
}

/** Undefined when it went well, otherwise what went wrong. Rejects only when the signal aborts. */
export async function runHook(
  { pod, container, containerId, podIp, handler }: HookRun,
  { clock, runtime }: HookTools,
  signal: AbortSignal,
): Promise<string | undefined> {
  const where = `for Container "${container.name}" in Pod "${podText(pod)}" failed`;
  if (handler.exec) {
    const command = handler.exec.command ?? [];
    const what = `Exec lifecycle hook ([${command.join(" ")}]) ${where}`;
    try {
      const { exitCode, stdout, stderr } = await runtime.execSync(
        { containerId, cmd: command },
        { signal, timeoutMs: EXEC_TIMEOUT_MS },
      );
      if (exitCode === 0) return undefined;
      const output = JSON.stringify(Buffer.concat([stdout, stderr]).toString("utf8"));
      return `${what} - error: command '${command.join(" ")}' exited with ${exitCode}: , message: ${output}`;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return `${what} - error: ${messageOf(error)}, message: ""`;
    }
  }
  if (handler.httpGet) {
    const what = `HTTP lifecycle hook (${handler.httpGet.path ?? ""}) ${where}`;
    try {
      if (podIp === undefined && !handler.httpGet.host) return `${what} - error: no pod IP`;
      await httpGet(httpTarget(handler.httpGet, container, podIp ?? "", "lifecycle"), signal);
      return undefined;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return `${what} - error: ${messageOf(error)}`;
    }
  }
  if (handler.sleep) await clock.sleep(handler.sleep.seconds * 1000, signal);
  return undefined;
}

/** `name_namespace(uid)` */
export function podText({ metadata }: Pod): string {
  return `${metadata.name ?? ""}_${metadata.namespace ?? ""}(${metadata.uid ?? ""})`;
}
