/**
 * One node of `k8ts up` as a process in network, mount, process, IPC and host name namespaces of its own.
 * When its first process ends, the kernel ends every process of the node and takes its network and its
 * mounts away: a node leaves nothing behind but its cgroups and its folders.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { deferred } from "#lib/async/deferred.ts";
import type { Fields, Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface NamespaceOptions {
  readonly name: string;
  /** With the length of the network: `10.201.7.2/24`. */
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
  /** Addresses of the machine that are on the nodes' link, too. */
  readonly machineAddresses: readonly string[];
  /** For an add-on that brings the pod network: where it installs, on this node alone. */
  readonly cniFolders: CniFolders | undefined;
  /** The argument of `k8ts node run`. */
  readonly configFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Connects the namespace of a process before anything runs in it. */
  connect(pid: number): Promise<void>;
}

/** What an add-on's DaemonSet finds at the usual paths of a machine. */
export interface CniFolders {
  /** Seen as /etc/cni/net.d. */
  readonly conf: string;
  /** Seen as /opt/cni/bin, with the plug-ins of the machine in it. */
  readonly bin: string;
}

export interface RunningNamespace {
  readonly pid: number;
  /** Resolves when the node is registered and its services work; rejects if it ends before. */
  readonly ready: Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<void>;
  /** Lets the pods end first. */
  end(): Promise<void>;
  /** As if the machine lost its power. */
  powerOff(): Promise<void>;
}

const END_TIMEOUT_MS = 20_000;
const LAST_LINES_MAX = 20;
const NAMESPACES = ["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--mount-proc"];

/**
 * Sets the node up once it is connected. The shell stays as the first process and collects orphans. Folders
 * in which CNI plug-ins keep notes for a whole machine are the node's own. The plug-ins that an add-on finds
 * are copies, because it may overwrite them.
 */
const SCRIPT = `set -e
echo namespace
read -r connected
hostname "$1"
ip link set lo up
for address in $2; do
  case $address in *:*) ip addr add "$address" dev eth0 nodad ;; *) ip addr add "$address" dev eth0 ;; esac
done
ip link set eth0 up
for gateway in $3; do ip route add default via "$gateway"; done
for address in $4; do ip route replace "$address" dev eth0; done
mkdir -p /run/netns /var/lib/cni
mount -t tmpfs tmpfs /run/netns
mount -t tmpfs tmpfs /var/lib/cni
if [ -n "$5" ]; then
  mkdir -p "$5" /etc/cni/net.d
  mount --bind "$5" /etc/cni/net.d
fi
if [ -n "$6" ] && [ ! -e /opt/cni/bin/bridge ]; then
  mkdir -p "$6" /opt/cni/bin
  cp -n /usr/lib/cni/* "$6"
  mount --bind "$6" /opt/cni/bin
fi
shift 6
"$@"
exit $?`;

export async function startNamespace(options: NamespaceOptions): Promise<RunningNamespace> {
  const { name, addresses, gateways, machineAddresses, cniFolders, configFile, clock, logger } =
    options;
  const program = [process.execPath, ...process.execArgv, process.argv[1]!];
  const child = spawn(
    "unshare",
    [
      ...[...NAMESPACES, "--propagation", "private", "--kill-child"],
      ...["sh", "-c", SCRIPT, "sh", name, addresses.join(" "), gateways.join(" ")],
      ...[machineAddresses.join(" "), cniFolders?.conf ?? "", cniFolders?.bin ?? ""],
      ...[...program, "node", "run", configFile],
    ],
    // Signals that a terminal sends to the cluster's process are not for its nodes.
    { stdio: ["pipe", "pipe", "pipe"], detached: true },
  );
  const started = deferred<void>();
  const ready = deferred<void>();
  const ended = deferred<void>();
  const lastLines: string[] = [];
  ready.promise.catch(() => undefined);
  child.stdin.on("error", () => undefined); // the node ended first
  createInterface(child.stdout).on("line", (line) => {
    if (line === "namespace") started.resolve();
    if (line === "ready") ready.resolve();
  });
  createInterface(child.stderr).on("line", (line) => {
    lastLines.push(line);
    if (lastLines.length > LAST_LINES_MAX) lastLines.shift();
    passOn(line, logger);
  });
  const fail = (why: string): void => {
    const error = new Error(`node ${name} ended: ${why}\n${lastLines.join("\n")}`);
    started.reject(error);
    ready.reject(error);
    ended.resolve();
  };
  child.on("error", (error) => fail(error.message));
  child.on("close", (code, signal) => fail(`${code ?? signal}`));
  const powerOff = async (): Promise<void> => {
    child.kill("SIGKILL"); // --kill-child takes the first process along, and the kernel all others
    await ended.promise;
  };
  try {
    await started.promise;
    await options.connect(child.pid!);
  } catch (error) {
    await powerOff();
    throw error;
  }
  child.stdin.write("connected\n");
  return {
    pid: child.pid!,
    ready: ready.promise,
    ended: ended.promise,
    powerOff,
    end: async () => {
      child.stdin.end();
      const late = new AbortController();
      await Promise.race([
        ended.promise,
        clock.sleep(END_TIMEOUT_MS, late.signal).catch(() => undefined),
      ]);
      late.abort();
      await powerOff();
    },
  };
}

/** A log line of the node becomes one of the cluster. */
function passOn(line: string, logger: Logger): void {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    logger.warn(line);
    return;
  }
  if (typeof entry !== "object" || entry === null) return;
  const { ts, v, level, msg, ...fields } = entry as Fields;
  const log = level === "error" || level === "warn" || level === "debug" ? level : "info";
  logger[log](String(msg), fields);
}
