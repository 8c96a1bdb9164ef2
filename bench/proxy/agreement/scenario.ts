/** Seeded Services with every feature of the proxy, and the addresses at which they should be asked. */
import { seededRandom } from "#lib/random.ts";
import { NODE_IP, NODE_IP_V6, POD_IPS, POD_IPS_V6 } from "../../../test/e2e/proxy/node-network.ts";

/** A write to the API server. */
export type Write = readonly [method: string, path: string, body: object];

export interface Target {
  /** What is asked, in words: the Service's features are in it. */
  readonly id: string;
  readonly protocol: "tcp" | "udp";
  readonly host: string;
  readonly port: number;
  /** Only one of the endpoints may answer, but either. */
  readonly isSticky: boolean;
  readonly onlyFromNode: boolean;
  /** No rule takes packets to it. */
  readonly isUnused: boolean;
}

export interface Scenario {
  readonly writes: readonly Write[];
  readonly targets: readonly Target[];
}

const SERVICES = 24;
const UNUSED_PORT = "another port of the cluster IP";
const SERVICE_PATH = "/api/v1/namespaces/default/services";
const SLICE_PATH = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const APPLY = "?fieldManager=agreement&force=true";

/**
 * The same names and addresses for every seed and round; what the Services are and which endpoints they
 * have differs. Round 0 creates them, later ones change endpoints and policies.
 */
export function scenarioOf(seed: number, round: number): Scenario {
  const all = Array.from({ length: SERVICES }, (_, i) => serviceOf(i, seed, round));
  return {
    writes: all.flatMap(({ writes }) => writes),
    targets: all.flatMap(({ targets }) => targets),
  };
}

function serviceOf(index: number, seed: number, round: number): Scenario {
  const shape = shapeOf(index, seed);
  const { isUdp, isSix, type } = shape;
  const random = seededRandom(seed * 10_000 + index * 100 + round);
  const pick = <T>(...values: readonly T[]): T => values[random.integer(values.length)]!;
  const name = `s${index}`;
  const clusterIP = isSix ? `fd96::${index + 16}` : `10.96.1.${index}`;
  const port = isUdp ? 53 : 80;
  const internal = pick("Cluster", "Cluster", "Local");
  const external = type === "ClusterIP" ? undefined : pick("Cluster", "Local");
  const affinity = pick("None", "None", "None", "ClientIP");
  const isLocalBalancer = type === "LoadBalancer" && external === "Local";
  const externalIp = isSix ? `fd98::${index}` : `203.0.113.${index}`;
  const balancerIp = isSix ? `fd98::1:${index}` : `198.51.100.${index}`;
  const ranges = pick(undefined, undefined, ["192.168.77.0/24", "fd77::/64"], ["10.9.0.0/16"]);
  const spec = {
    ...{ type, clusterIP, ipFamilies: [isSix ? "IPv6" : "IPv4"] },
    ports: [
      {
        ...{ name: "p", port, protocol: isUdp ? "UDP" : "TCP" },
        ...(type === "ClusterIP" ? {} : { nodePort: 30_100 + index }),
      },
    ],
    ...{ internalTrafficPolicy: internal, sessionAffinity: affinity },
    ...(external === undefined ? {} : { externalTrafficPolicy: external }),
    ...(isLocalBalancer ? { healthCheckNodePort: 31_100 + index } : {}),
    ...(shape.hasExternalIp ? { externalIPs: [externalIp] } : {}),
    ...(type === "LoadBalancer" && ranges !== undefined
      ? { loadBalancerSourceRanges: ranges }
      : {}),
  };
  const endpoints = endpointsOf(pick, isSix);
  const words = [
    ...[type, isUdp ? "UDP" : "TCP", isSix ? "IPv6" : "IPv4", `internal ${internal}`],
    ...(external === undefined ? [] : [`external ${external}`]),
    ...(affinity === "ClientIP" ? ["affinity"] : []),
    ...(type === "LoadBalancer" && ranges !== undefined ? [`ranges ${ranges[0]}`] : []),
    ...endpoints.map((one) => JSON.stringify(one)),
  ].join(", ");
  const target = (what: string, host: string, atPort: number, onlyFromNode = false): Target => ({
    id: `seed ${seed} round ${round} ${name} ${what} [${words}]`,
    ...{ protocol: isUdp ? "udp" : "tcp", host, port: atPort, onlyFromNode },
    isUnused: what === UNUSED_PORT,
    isSticky: affinity === "ClientIP" && endpoints.length > 1,
  });
  const nodeIp = isSix ? NODE_IP_V6 : NODE_IP;
  return {
    writes: [
      [
        "PATCH",
        `${SERVICE_PATH}/${name}${APPLY}`,
        { apiVersion: "v1", kind: "Service", metadata: { name }, spec },
      ],
      ...(type === "LoadBalancer" ? [statusWrite(name, balancerIp, shape.ipMode)] : []),
      sliceWrite(name, isSix, isUdp, endpoints),
    ],
    targets: [
      target("cluster IP", clusterIP, port),
      target(UNUSED_PORT, clusterIP, port + 1),
      ...(shape.hasExternalIp ? [target("external IP", externalIp, port)] : []),
      ...(type === "LoadBalancer" ? [target("load balancer IP", balancerIp, port)] : []),
      ...(type === "ClusterIP"
        ? []
        : [
            target("node port", nodeIp, 30_100 + index),
            target(
              "node port at the pods' gateway",
              isSix ? "fd44::1" : "10.244.0.1",
              30_100 + index,
            ),
            ...(isSix ? [] : [target("node port at 127.0.0.1", "127.0.0.1", 30_100 + index, true)]),
          ]),
    ],
  };
}

/** What a Service keeps through all rounds. */
function shapeOf(index: number, seed: number) {
  const random = seededRandom(seed * 100 + index);
  const pick = <T>(...values: readonly T[]): T => values[random.integer(values.length)]!;
  const isSix = pick(false, false, true);
  return {
    isSix,
    isUdp: !isSix && pick(false, false, true),
    type: pick("ClusterIP", "NodePort", "LoadBalancer"),
    hasExternalIp: pick(false, true),
    ipMode: pick(undefined, "VIP", "VIP", "Proxy"),
  };
}

type SliceEndpoint = ReturnType<typeof endpointsOf>[number];

function endpointsOf(pick: <T>(...values: readonly T[]) => T, isSix: boolean) {
  const ips = isSix ? POD_IPS_V6 : POD_IPS;
  const pods = pick([], [ips.pod1], [ips.pod2], [ips.pod1, ips.pod2], [ips.pod1, ips.pod2]);
  const hints = pick(undefined, undefined, "zone", "node");
  return pods.map((ip) => {
    const conditions = pick(
      ...[{ ready: true }, { ready: true }, { ready: true, serving: true, terminating: false }],
      { ready: false },
      { ready: false, serving: true, terminating: true },
      { ready: false, serving: false, terminating: true },
    );
    const zones = [{ name: pick("a", "b") }];
    const nodes = [{ name: pick("node1", "other") }];
    return {
      ...{ addresses: [ip], conditions, nodeName: pick("node1", "node1", "other") },
      ...(hints === undefined
        ? {}
        : { hints: hints === "zone" ? { forZones: zones } : { forZones: zones, forNodes: nodes } }),
    };
  });
}

function statusWrite(name: string, ip: string, ipMode: string | undefined): Write {
  const ingress = [{ ip, ...(ipMode === undefined ? {} : { ipMode }) }];
  const object = { apiVersion: "v1", kind: "Service", metadata: { name } };
  const path = `${SERVICE_PATH}/${name}/status${APPLY}`;
  return ["PATCH", path, { ...object, status: { loadBalancer: { ingress } } }];
}

function sliceWrite(
  name: string,
  isSix: boolean,
  isUdp: boolean,
  endpoints: readonly SliceEndpoint[],
): Write {
  return [
    "PATCH",
    `${SLICE_PATH}/${name}${APPLY}`,
    {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      ...{ addressType: isSix ? "IPv6" : "IPv4", endpoints },
      ports: [{ name: "p", port: isUdp ? 5353 : 8080, protocol: isUdp ? "UDP" : "TCP" }],
    },
  ];
}
