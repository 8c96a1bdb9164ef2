/** Who a load generator is, as the cluster's kubeconfig says. */
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { parseKubeconfig } from "#pki/kubeconfig.ts";

export interface Identity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export function identityOf(kubeconfigFile: string): Identity {
  const parsed = parseKubeconfig(readFileSync(kubeconfigFile, "utf8"));
  if (parsed === undefined) throw new Error(`${kubeconfigFile} cannot be read`);
  const { authorityPem, client } = parsed;
  return { ca: authorityPem, cert: client.certificatePem, key: client.keyPem };
}

/** Of a server on this machine. */
export function portOf(kubeconfigFile: string): number {
  const parsed = parseKubeconfig(readFileSync(kubeconfigFile, "utf8"));
  return Number(new URL(parsed?.server ?? "").port);
}

const READ_BYTES = 64 * 1024;

/** What is read comes in one and the same buffer: who wants to keep it has to copy it. */
export function connectTls(
  port: number,
  identity: Identity,
  protocol: "h2" | "http/1.1",
  onData: (chunk: Buffer, socket: TLSSocket) => void,
): Promise<TLSSocket> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  const onread = {
    buffer,
    callback: (count: number): boolean => {
      onData(buffer.subarray(0, count), socket);
      return true;
    },
  };
  const there = { host: "127.0.0.1", port, ALPNProtocols: [protocol], onread };
  const socket: TLSSocket = connect({ ...identity, ...there });
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
