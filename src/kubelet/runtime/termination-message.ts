/**
 * The last words of a container: from the file that it may write, or, with the policy
 * FallbackToLogsOnError, from the end of its log. Read once for each run that ended.
 */
import { readFileEnd } from "#host/read-file-end.ts";
import type { CriContainerStatus } from "#kubelet/cri/container-messages.ts";
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

/** The texts of the last lines, without CRI's time, stream and tag. */
function logEnd(text: string): string {
  const lines = text.split("\n").slice(-LOG_LINES_MAX - 1);
  const plain = lines.map((line) => line.split(" ").slice(3).join(" ")).join("\n");
  return Buffer.from(plain).subarray(-LOG_BYTES_MAX).toString("utf8");
}
