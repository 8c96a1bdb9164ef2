/**
 * The real SSH server of Debian (`openssh-server`) on a free port of loopback, for tests: each connection
 * is served by `sshd -i`, which takes it over. It lets root in with the keys of one file.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";

const SSHD = "/usr/sbin/sshd";

export interface TestSshServer extends AsyncDisposable {
  readonly port: number;
  /** How many connections it was asked for. */
  readonly connections: number;
  /** Ends all connections, as a restart does. */
  dropAll(): void;
}

/** `authorizedKeys`: a file. Its directory gets the host key and the configuration. */
export async function startSshServer(
  directory: string,
  authorizedKeys: string,
): Promise<TestSshServer> {
  const config = writeSshdConfig(directory, authorizedKeys);
  const children = new Set<ChildProcess>();
  let connections = 0;
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    connections += 1;
    const child = spawn(SSHD, ["-i", "-e", "-f", config], {
      ...{ stdio: [socket, socket, "ignore"], detached: true },
    });
    children.add(child);
    child.on("close", () => children.delete(child));
    socket.on("error", () => undefined);
    child.on("spawn", () => socket.destroy()); // the child has it now
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const dropAll = (): void => {
    // With its processes of less rights.
    for (const { pid } of children) if (pid !== undefined) process.kill(-pid, "SIGKILL");
  };
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    dropAll,
    [Symbol.asyncDispose]: async () => {
      dropAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers the name of the file. `Port` and addresses are left to the command line. */
export function writeSshdConfig(directory: string, authorizedKeys: string): string {
  const hostKey = join(directory, "ssh_host_ed25519_key");
  const made = spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", hostKey]);
  if (made.status !== 0) throw new Error(`ssh-keygen: ${made.stderr}`);
  mkdirSync("/run/sshd", { recursive: true }); // where sshd gives up its rights
  const config = join(directory, "sshd_config");
  const lines = [
    ...[`HostKey ${hostKey}`, `AuthorizedKeysFile ${authorizedKeys}`, "StrictModes no"],
    ...["PermitRootLogin prohibit-password", "UsePAM no", "PidFile none"],
    ...["AllowTcpForwarding yes", "PrintMotd no", "MaxStartups 100"],
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  return config;
}
