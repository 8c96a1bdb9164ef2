/** Small programs that run inside the test machine; each prints one number. */
import { API } from "../proxy/scripts.ts";

const WIRE = `
const dgram = require("dgram");
const query = (id, name) => Buffer.concat([
  Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  ...name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
  Buffer.from([0, 0, 1, 0, 1]),
]);
`;

/**
 * Arguments: milliseconds, how many Services there are, how many different queries are sent in turns; they
 * differ in the name of the Service, and where there are fewer Services, in the case of the namespace.
 * Prints how many answers came.
 */
export const LOAD_SCRIPT = `${WIRE}
const [ms, services, different] = process.argv.slice(1).map(Number);
const cased = (mask) => [..."default"].map((c, bit) => (mask >> bit) & 1 ? c.toUpperCase() : c).join("");
const queries = Array.from({ length: different }, (_, i) =>
  query(i, "s" + (i * 7) % services + "." + cased(Math.floor(i / services)) + ".svc.cluster.local"));
const socket = dgram.createSocket({ type: "udp4", recvBufferSize: 1 << 20 });
let sent = 0, received = 0;
const send = () => socket.send(queries[sent++ % queries.length]);
socket.on("message", (data) => {
  if ((data[3] & 15) !== 0 || data[7] !== 1) { console.error("not an answer"); process.exit(1); }
  received++; send();
});
socket.connect(53, "127.0.0.1", () => { for (let i = 0; i < 64; i++) send(); });
setTimeout(() => { console.log(received); process.exit(); }, ms);
`;

/** Prints the median of the milliseconds from a changed EndpointSlice until the server answers with it. */
export const CHANGE_SCRIPT = `${API}${WIRE}
const socket = dgram.createSocket("udp4");
socket.on("error", () => undefined); // connections are refused until the server listens
const ask = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, 500, "");
  socket.once("message", (data) => { clearTimeout(timer); resolve(data.subarray(-4).join(".")); });
  socket.send(query(1, "changing.default.svc.cluster.local"));
});
(async () => {
  await call("POST", "/api/v1/namespaces/default/services", { apiVersion: "v1", kind: "Service",
    metadata: { name: "changing" }, spec: { clusterIP: "None", ports: [{ name: "p", port: 80 }] } });
  await call("POST", SLICES, { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4",
    metadata: { name: "changing", labels: { "kubernetes.io/service-name": "changing" } },
    endpoints: [], ports: [{ name: "p", port: 80 }] });
  await new Promise((resolve) => socket.connect(53, "127.0.0.1", resolve));
  const times = [];
  for (let round = 1; round <= 21; round++) {
    const ip = "10.244.9." + round;
    await call("PATCH", SLICES + "/changing", { endpoints: [{ addresses: [ip], conditions: { ready: true } }] });
    const startMs = performance.now();
    while ((await ask()) !== ip) {
      if (performance.now() - startMs > 30000) throw new Error("the change is not visible");
    }
    times.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  console.log(times.sort((a, b) => a - b)[times.length >> 1]); process.exit();
})();
`;
