/**
 * The last words of a container: from the file that it may write, or, with the policy
 * FallbackToLogsOnError, from the end of its log. Read once for each run that ended.
 */
import { readFileEnd } from "#host/read-file-end.ts";
import type { CriContainerStatus } from "#kubelet/cri/container-messages.ts";
import { LogLines } from "#kubelet/server/log/log-lines.ts";
import { messageOf } from "#lib/caught.ts";
import { TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY } from "./labels.ts";

const MESSAGE_BYTES_MAX = 4096;
const LOG_BYTES_MAX = 2048;
const LOG_LINES_MAX = 80;
const CACHE_MAX = 2_000;

export class TerminationMessages {
  readonly #known = new Map<string, string>();

  async read(status: CriContainerStatus): Promise<string> {
    const known = this.#known.get(status.id);
    if (known !== undefined) return known;
    const text = await compose(status);
    this.#known.set(status.id, text);
    if (this.#known.size > CACHE_MAX) {
      const [oldest = ""] = this.#known.keys();
      this.#known.delete(oldest);
    }
    return text;
  }
}

async function compose(status: CriContainerStatus): Promise<string> {
  const { annotations, mounts, exitCode, logPath, message } = status;
  const path = annotations[TERMINATION_MESSAGE_PATH] ?? "";
  const mount = mounts.find(({ containerPath }) => path !== "" && containerPath === path);
  const isFallback =
    annotations[TERMINATION_MESSAGE_POLICY] === "FallbackToLogsOnError" && exitCode !== 0;
  let own = "";
  if (mount !== undefined) {
    try {
      own = (await readFileEnd(mount.hostPath, MESSAGE_BYTES_MAX)) ?? "";
    } catch (error) {
      own = `Error on reading termination log ${mount.hostPath}: ${messageOf(error)}`;
    }
  }
  if (own === "" && isFallback) own = logEnd((await readFileEnd(logPath, 64 * 1024)) ?? "");
  return message === "" || own === "" ? message || own : `${message}: ${own}`;
}

/** What the container wrote in the last lines of its log. */
export function logEnd(log: string): string {
  const lines = log.split("\n").filter((line) => line !== "");
  const last = `${lines.slice(-LOG_LINES_MAX).join("\n")}\n`;
  const written = new LogLines({ timestamps: false, stream: "All" });
  return Buffer.from(written.add(Buffer.from(last)))
    .subarray(-LOG_BYTES_MAX)
    .toString("utf8");
}
