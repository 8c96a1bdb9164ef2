/** Small programs that run inside the test machine and print numbers. */

export const API = `
const https = require("https");
const agent = new https.Agent({ keepAlive: true, maxSockets: 32, rejectUnauthorized: false });
const call = (method, path, body) => new Promise((resolve, reject) => {
  const patch = path.includes("fieldManager=") ? "apply-patch+yaml" : "merge-patch+json";
  const type = "application/" + (method === "PATCH" ? patch : "json");
  const headers = { authorization: "Bearer bench", "content-type": type };
  const request = https.request({ host: "127.0.0.1", port: 6443, path, method, agent, headers }, (reply) => {
    let text = "";
    reply.on("data", (d) => { text += d; }).on("end", () => reply.statusCode < 300 ? resolve() : reject(new Error(text)));
  });
  request.on("error", reject).end(JSON.stringify(body));
});
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
`;

/** Argument: a file with requests as JSON: method, path and body of each. Prints nothing. */
export const APPLY_SCRIPT = `${API}
(async () => {
  for (const [method, path, body] of JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))) {
    await call(method, path, body).catch((error) => { throw new Error(path + ": " + error.message); });
  }
  process.exit();
})();
`;

/** Arguments: Services, endpoints of each, the address of the pod behind the Service \`real\`. */
export const FILL_SCRIPT = `${API}
const [services, endpoints, real] = process.argv.slice(1);
const ports = [{ name: "p", port: 8080, protocol: "TCP" }];
const make = async (name, clusterIP, addresses) => {
  await call("POST", "/api/v1/namespaces/default/services", { apiVersion: "v1", kind: "Service", metadata: { name },
    spec: { clusterIP, ports: [{ name: "p", port: 80, protocol: "TCP" }] } });
  await call("POST", SLICES, { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4", ports,
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })) });
};
(async () => {
  await call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "node1" } });
  await call("PATCH", "/api/v1/nodes/node1/status", { status: { addresses: [{ type: "InternalIP", address: "192.168.77.1" }] } });
  await make("real", "10.96.200.1", [real]);
  const left = Array.from({ length: Number(services) }, (_, i) => i);
  await Promise.all(Array.from({ length: 32 }, async () => {
    for (let i = left.pop(); i !== undefined; i = left.pop()) {
      const ips = Array.from({ length: Number(endpoints) }, (_, n) => "10." + (100 + n) + "." + (i >> 8) + "." + (i & 255));
      await make("s" + i, "10.96." + (10 + (i >> 8)) + "." + (i & 255), ips);
    }
  }));
  console.log(0); process.exit();
})();
`;

/** Returns when the Service \`real\` answers. */
export const FIRST_ANSWER_SCRIPT = `
const net = require("net");
const endMs = Date.now() + Number(process.argv[1]);
const attempt = () => {
  if (Date.now() > endMs) { console.error("no answer"); process.exit(1); }
  const socket = net.connect({ host: "10.96.200.1", port: 80 }, () => { console.log(0); process.exit(); });
  const again = () => { socket.destroy(); setTimeout(attempt, 10); };
  const timer = setTimeout(again, 200);
  socket.on("error", () => { clearTimeout(timer); again(); });
};
attempt();
`;

/** Arguments: two pods. Prints the median of the times until the Service leads to the other one. */
export const CHANGE_SCRIPT = `${API}
const http = require("http");
const ask = () => new Promise((resolve) => {
  const request = http.get({ host: "10.96.200.1", port: 80, agent: false, timeout: 500 }, (reply) => {
    let text = ""; reply.on("data", (d) => { text += d; }).on("end", () => resolve(text));
  }).on("error", () => resolve("")).on("timeout", () => request.destroy());
});
(async () => {
  const times = [];
  for (let round = 0; round < 12; round++) {
    const to = 1 - (round % 2);
    const endpoints = [{ addresses: [process.argv[1 + to]], conditions: { ready: true } }];
    await call("PATCH", SLICES + "/real", { endpoints });
    const startMs = performance.now();
    while (!(await ask()).startsWith("pod" + (to + 1))) {
      if (performance.now() - startMs > 60000) throw new Error("the change does not act");
    }
    times.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 1200));
  }
  const endpoints = [{ addresses: [process.argv[1]], conditions: { ready: true } }];
  await call("PATCH", SLICES + "/real", { endpoints });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  console.log(times.sort((a, b) => a - b)[times.length >> 1]); process.exit();
})();
`;

/**
 * Argument: the pod behind the Service \`real\`. Opens a connection for each request, 16 at a time, by turns
 * to the cluster IP and to the pod itself. Prints the medians of requests a second through the cluster
 * IP, and of their ratios to those of the turn without it.
 */
export const CONNECT_SCRIPT = `
const net = require("net");
const VIP = { host: "10.96.200.1", port: 80 };
const POD = { host: process.argv[1], port: 8080 };
const perSecond = (target) => new Promise((resolve) => {
  const startMs = performance.now();
  let count = 0;
  let open = 16;
  const one = () => {
    const tookMs = performance.now() - startMs;
    if (tookMs > 500) { if (--open === 0) resolve(count * 1000 / tookMs); return; }
    const socket = net.connect(target, () => socket.write("GET / HTTP/1.0\\r\\n\\r\\n"));
    socket.on("data", () => { count++; socket.resetAndDestroy(); one(); }).on("error", () => one());
  };
  for (let i = 0; i < 16; i++) one();
});
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
(async () => {
  await perSecond(VIP);
  await perSecond(POD);
  const rates = [];
  const ratios = [];
  for (let round = 0; round < 9; round++) {
    const direct = await perSecond(POD);
    const through = await perSecond(VIP);
    rates.push(through);
    ratios.push(through / direct);
  }
  console.log(median(rates), median(ratios)); process.exit();
})();
`;
