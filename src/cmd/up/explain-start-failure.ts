/** Why a cluster could not start, in words that say what to do about it. */
import { listenerOf } from "#host/listener.ts";
import { codeOf, messageOf } from "#lib/caught.ts";

/** The same error where there is nothing to add. */
export function explainStartFailure(error: unknown, dataDir: string): unknown {
  const why = explanation(error, dataDir);
  return why === undefined ? error : new Error(why, { cause: error });
}

function explanation(error: unknown, dataDir: string): string | undefined {
  const code = codeOf(error);
  if (code === "EADDRINUSE") return portInUse(error);
  if (code === "ENOSPC" || /\b(ENOSPC|MDB_MAP_FULL)\b|no space left/i.test(messageOf(error))) {
    return `there is no space left on the disk that holds ${dataDir}: ${messageOf(error)}`;
  }
  return undefined;
}

function portInUse(error: unknown): string {
  const { port } = error as { port?: number };
  if (port === undefined) return `a port is in use: ${messageOf(error)}`;
  const owner = listenerOf(port);
  const by =
    owner === undefined ? "by another program" : `by process ${owner.pid} (${owner.command})`;
  return `port ${port} is in use ${by}: end it, or take another with --port`;
}
