/**
 * A containerd of the kubelet's own.
 *
 * Promises:
 * 1. `startContainerd` returns once the runtime answers, or throws with what containerd wrote.
 * 2. When the daemon ends, it is started again with a back-off until the signal aborts. Containers
 *    live in their shims and go on meanwhile.
 * 3. When the signal aborts the daemon gets SIGTERM; containers keep running; stopping the node ends them.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileWhole } from "#host/files.ts";
import { type ChildProgram, startProgram } from "#host/start-program.ts";
import { superviseProgram } from "#host/supervise-program.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type ContainerdSettings, containerdConfig, socketOf } from "./containerd-config.ts";

const START_TIMEOUT_MS = 30_000;
const ASK_AGAIN_MS = 20;

export interface ContainerdOptions {
  readonly settings: ContainerdSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly program?: string;
}

export interface RunningContainerd {
  /** For `--container-runtime-endpoint`. */
  readonly endpoint: string;
  /** Of the daemon that runs now. */
  readonly pid: number | undefined;
  /** Ends after the signal aborted and the daemon is gone. */
  readonly ended: Promise<void>;
}

export async function startContainerd(
  options: ContainerdOptions,
  signal: AbortSignal,
): Promise<RunningContainerd> {
  const { settings } = options;
  await mkdir(settings.root, { recursive: true });
  await mkdir(settings.state, { recursive: true });
  await mkdir(settings.cniConf, { recursive: true });
  const configFile = join(settings.root, "config.toml");
  await writeFileWhole(configFile, containerdConfig(settings));
  const endpoint = `unix://${socketOf(settings)}`;
  let child: ChildProgram;
  const start = (): ChildProgram => {
    child = startProgram(options.program ?? "containerd", ["--config", configFile], {
      onLine: (line) => options.logger.debug("containerd", { line }),
    });
    return child;
  };
  child = start();
  await untilAnswering(endpoint, child, options.clock, signal).catch(async (error: unknown) => {
    child.kill("SIGTERM");
    await child.ended;
    throw error;
  });
  const ended = superviseProgram(child, start, { name: "containerd", ...options }, signal);
  return {
    endpoint,
    get pid() {
      return child.pid;
    },
    ended,
  };
}

async function untilAnswering(
  endpoint: string,
  child: ChildProgram,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.elapsedMs() + START_TIMEOUT_MS;
  for (;;) {
    // One client per attempt: a connection that failed waits before it tries again.
    using cri = createCriClient({ endpoint, timeoutMs: 2_000 });
    try {
      await cri.runtime.version({}, { signal });
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      if (child.exited) {
        const { lastLines } = await child.ended;
        throw new Error(`containerd did not start: ${lastLines.join("\n")}`);
      }
      if (clock.elapsedMs() > endMs) {
        throw new Error(`containerd does not answer: ${messageOf(error)}`);
      }
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }
}
