/** Ports of this machine that nobody listens on, for programs that are told theirs. */
import { once } from "node:events";
import { createServer } from "node:net";

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** All of them different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
