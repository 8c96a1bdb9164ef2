/**
 * The user's own kubeconfig: the first file of $KUBECONFIG, or ~/.kube/config.
 *
 * Promises:
 * 1. It is replaced as a whole, with its mode, where a link points to; kubectl's lock is held meanwhile.
 * 2. A file that cannot be understood is not touched, and the reason is returned.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { load } from "js-yaml";
import { codeOf, messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { readPrivateFile } from "#pki/private-file.ts";
import { defaultDataDir } from "../default-data-dir.ts";
import { type ClusterEntry, type Edit, withCluster, withoutCluster } from "./kubeconfig-entries.ts";

const LOCK_TRIES_MAX = 50;
const LOCK_RETRY_MS = 20;

export type Merged =
  | { readonly ok: true; readonly file: string; readonly context: string }
  | { readonly ok: false; readonly why: string };

export interface UserKubeconfig {
  readonly file: string;
  readonly clock: Pick<Clock, "sleep">;
}

export function userKubeconfigFile(environment: NodeJS.ProcessEnv): string {
  const listed = (environment.KUBECONFIG ?? "").split(delimiter).find((path) => path !== "");
  return resolve(listed ?? join(homedir(), ".kube", "config"));
}

/** Adds the cluster of a data directory, or brings its entries up to date. */
export function mergeIntoUserKubeconfig(
  user: UserKubeconfig,
  dataDir: string,
  signal: AbortSignal,
): Promise<Merged> {
  return edit(user, (text) => withCluster(text, entryOf(dataDir)), signal);
}

/** Removes what was merged. */
export function removeFromUserKubeconfig(
  user: UserKubeconfig,
  dataDir: string,
  signal: AbortSignal,
): Promise<Merged> {
  const remove = (text: string | undefined): Edit =>
    text === undefined
      ? { ok: true, text: "", context: "" }
      : withoutCluster(text, resolve(dataDir));
  return edit(user, remove, signal);
}

function entryOf(dataDir: string): ClusterEntry {
  const file = resolve(dataDir, "kubeconfig");
  const { clusters, users } = load(readPrivateFile(file) ?? "") as {
    clusters: readonly { cluster: ClusterEntry["cluster"] }[];
    users: readonly { user: ClusterEntry["user"] }[];
  };
  const path = resolve(dataDir);
  const name = path === resolve(defaultDataDir()) ? "k8ts" : `k8ts-${wordOf(basename(path))}`;
  return { name, dataDir: path, cluster: clusters[0]!.cluster, user: users[0]!.user };
}

/** A name that needs no quotes. */
function wordOf(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, "-").replaceAll(/^[-.]+|-+$/g, "") || "cluster";
}

async function edit(
  { file: path, clock }: UserKubeconfig,
  change: (text: string | undefined) => Edit,
  signal: AbortSignal,
): Promise<Merged> {
  const refused = (why: string): Merged => ({ ok: false, why: `${path}: ${why}` });
  let locked: string | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
    const file = statSync(path, { throwIfNoEntry: false }) ? realpathSync(path) : path;
    locked = await lock(`${path}.lock`, clock, signal);
    if (locked === undefined) return refused(`${path}.lock is held by another program`);
    const text = readPrivateFile(file);
    const changed = change(text);
    if (!changed.ok) return refused(changed.why);
    if (changed.text !== (text ?? "")) replace(file, changed.text);
    return { ok: true, file: path, context: changed.context };
  } catch (error) {
    return refused(messageOf(error));
  } finally {
    if (locked !== undefined) rmSync(locked, { force: true });
  }
}

function replace(file: string, text: string): void {
  const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777;
  const draft = `${file}.k8ts-new`;
  writeFileSync(draft, text, { mode, flush: true });
  renameSync(draft, file);
}

/** Undefined if another program holds it. */
async function lock(
  path: string,
  clock: Pick<Clock, "sleep">,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries++) {
    try {
      closeSync(openSync(path, "wx", 0o600));
      return path;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    await clock.sleep(LOCK_RETRY_MS, signal);
  }
  return undefined;
}
