/** Asks a UDP server for names as fast as it answers, and reports the answers a second. */
import { createSocket } from "node:dgram";
import { encodeQuestion } from "#dns/wire/encode-question.ts";
import { systemClock } from "#lib/time/system-clock.ts";

const port = Number(process.env.DNS_PORT);
const durationMs = Number(process.env.DNS_MS);
const window = Number(process.env.DNS_WINDOW);
const WARM_UP_MS = 200;

const socket = createSocket({ type: "udp4", recvBufferSize: 1024 * 1024 });
const queries = Array.from({ length: 1_000 }, (_, i) =>
  Buffer.concat([
    Buffer.from([i >> 8, i & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    encodeQuestion(`service-${i * 7}.default.svc.cluster.local`, 1),
  ]),
);
let sent = 0;
let received = 0;
const send = (): void => {
  sent += 1;
  socket.send(queries[sent % queries.length]!);
};
socket.on("message", () => {
  received += 1;
  send();
});
await new Promise<void>((resolve) => socket.connect(port, "127.0.0.1", resolve));
for (let i = 0; i < window; i++) send();
await systemClock.sleep(WARM_UP_MS);
const startMs = systemClock.elapsedMs();
received = 0;
await systemClock.sleep(durationMs);
process.send?.(received / ((systemClock.elapsedMs() - startMs) / 1000), () => process.exit(0));
