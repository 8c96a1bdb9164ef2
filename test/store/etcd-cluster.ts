/** Real etcd servers for tests, each a process with a data directory of its own, on loopback. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "#testing/free-ports.ts";

export interface EtcdClusterOptions {
  readonly members?: number;
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly flags?: readonly string[];
  /** In memory unless given. */
  readonly directory?: string;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly endpoints: readonly string[];
  /** kill -9. */
  kill(member: number): Promise<void>;
  /** SIGSTOP: its connections stay open, and nothing is answered. */
  freeze(member: number): void;
  thaw(member: number): void;
  /** Starts it again with the data that it had. */
  start(member: number): Promise<void>;
}

export async function startEtcd(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const { members = 1, tls, flags = [] } = options;
  const directory =
    options.directory ?? mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "etcd-"));
  const ports = await freePorts(2 * members);
  const scheme = tls === undefined ? "http" : "https";
  const clientUrl = (member: number): string => `${scheme}://127.0.0.1:${ports[2 * member]}`;
  const peerUrl = (member: number): string => `http://127.0.0.1:${ports[2 * member + 1]}`;
  const everyone = Array.from({ length: members }, (_, member) => `m${member}=${peerUrl(member)}`);
  const processes: ChildProcess[] = [];

  const start = async (member: number): Promise<void> => {
    const child = spawn(
      "etcd",
      [
        ...["--name", `m${member}`, "--data-dir", join(directory, `m${member}`)],
        ...[
          "--listen-client-urls",
          clientUrl(member),
          "--advertise-client-urls",
          clientUrl(member),
        ],
        ...[
          "--listen-peer-urls",
          peerUrl(member),
          "--initial-advertise-peer-urls",
          peerUrl(member),
        ],
        ...["--initial-cluster", everyone.join(","), "--initial-cluster-state", "new"],
        ...["--heartbeat-interval", "50", "--election-timeout", "500", "--log-level", "error"],
        ...tlsFlags(tls),
        ...flags,
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    processes[member] = child;
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_000);
    });
    child.once("exit", (code) => {
      if (code !== null && code !== 0) process.stderr.write(`etcd ended with ${code}: ${said}\n`);
    });
    await once(child, "spawn");
  };
  const kill = async (member: number): Promise<void> => {
    const child = processes[member];
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
  for (let member = 0; member < members; member++) await start(member);
  return {
    endpoints: Array.from({ length: members }, (_, member) => clientUrl(member)),
    kill,
    freeze: (member) => void processes[member]?.kill("SIGSTOP"),
    thaw: (member) => void processes[member]?.kill("SIGCONT"),
    start,
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((_, member) => kill(member)));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function tlsFlags(tls: EtcdClusterOptions["tls"]): string[] {
  if (tls === undefined) return [];
  const files = ["--cert-file", tls.cert, "--key-file", tls.key, "--trusted-ca-file", tls.ca];
  return [...files, "--client-cert-auth"];
}
