/** Asks a kubelet for /healthz through a tunnel. Any answer will do: it shows that the tunnel works. */
import { request } from "node:https";
import { connect } from "node:tls";
import type { SshConnection } from "./ssh-connection.ts";
import type { TunnelTarget } from "./ssh-tunnels.ts";

/** Rejects if there is no answer before the signal aborts. The kubelet's certificate is not looked at. */
export async function checkKubelet(
  { kubelet: { host, port } }: TunnelTarget,
  tunnel: SshConnection,
  signal: AbortSignal,
): Promise<void> {
  const stream = await tunnel.dial(host, port);
  const socket = connect({ socket: stream, rejectUnauthorized: false });
  try {
    await new Promise<void>((resolve, reject) => {
      const asked = request(
        { host, port, path: "/healthz", agent: false, createConnection: () => socket, signal },
        (response) => {
          response.resume();
          resolve();
        },
      );
      asked.on("error", reject);
      asked.end();
    });
  } finally {
    socket.destroy();
    stream.destroy();
  }
}
