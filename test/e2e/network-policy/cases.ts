/**
 * Upstream's cases of test/e2e/network/netpol as data: policies, and which packets pass then. Pods carry
 * the label `pod`, namespaces `ns`; the ports are named `serve-80-tcp`, `serve-81-tcp`, `serve-80-udp`.
 */
import type { PodName } from "./pod-network.ts";

export interface Packet {
  readonly from: PodName;
  readonly to: PodName;
  readonly protocol: "tcp" | "udp";
  readonly port: 80 | 81;
}

export interface Case {
  readonly name: string;
  /** Specs by `namespace/name`. */
  readonly policies: Readonly<Record<string, object>>;
  allows(packet: Packet): boolean;
}

const pod = (...names: string[]): object => ({
  podSelector: { matchExpressions: [{ key: "pod", operator: "In", values: names }] },
});
const ns = (...names: string[]): object => ({
  namespaceSelector: { matchExpressions: [{ key: "ns", operator: "In", values: names }] },
});
const X_A = { podSelector: { matchLabels: { pod: "a" } } };
const ALL = { podSelector: {} };
const IN = { policyTypes: ["Ingress"] };
const OUT = { policyTypes: ["Egress"] };
const inNs = (name: string, id: string): boolean => id.startsWith(`${name}/`);

export const CASES: readonly Case[] = [
  {
    name: "default-deny-ingress",
    policies: { "x/p": { ...ALL, ...IN, ingress: [] } },
    allows: ({ to }) => !inNs("x", to),
  },
  {
    name: "default-deny-all",
    policies: { "x/p": { ...ALL, policyTypes: ["Ingress", "Egress"] } },
    allows: ({ from, to }) => !inNs("x", to) && !inNs("x", from),
  },
  {
    name: "podSelector: pods of the same namespace",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ from: [pod("b")] }] } },
    allows: ({ from, to }) => to !== "x/a" || from === "x/b",
  },
  {
    name: "all namespaces by an empty namespaceSelector",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ from: [{ namespaceSelector: {} }] }] } },
    allows: () => true,
  },
  {
    name: "namespaceSelector: another namespace only",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ from: [ns("y")] }] } },
    allows: ({ from, to }) => to !== "x/a" || inNs("y", from),
  },
  {
    name: "podSelector or namespaceSelector (two peers)",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ from: [pod("b"), ns("z")] }] } },
    allows: ({ from, to }) => to !== "x/a" || from === "x/b" || from === "z/a",
  },
  {
    name: "podSelector and namespaceSelector (one peer)",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ from: [{ ...pod("a"), ...ns("y", "z") }] }] } },
    allows: ({ from, to }) => to !== "x/a" || from === "y/a" || from === "z/a",
  },
  {
    name: "stacked policies: ports add up",
    policies: {
      "x/one": { ...X_A, ...IN, ingress: [{ from: [ns("y")], ports: [{ port: 80 }] }] },
      "x/two": { ...X_A, ...IN, ingress: [{ from: [ns("y")], ports: [{ port: 81 }] }] },
    },
    allows: ({ from, to, protocol }) => to !== "x/a" || (inNs("y", from) && protocol === "tcp"),
  },
  {
    name: "named port of one protocol",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ ports: [{ port: "serve-81-tcp" }] }] } },
    allows: ({ to, port }) => to !== "x/a" || port === 81,
  },
  {
    name: "egress on a named port",
    policies: {
      "x/p": {
        ...X_A,
        ...OUT,
        egress: [{ ports: [{ port: "serve-80-tcp" }, { port: "serve-80-udp", protocol: "UDP" }] }],
      },
    },
    allows: ({ from, port }) => from !== "x/a" || port === 80,
  },
  {
    name: "UDP only, with several peers",
    policies: {
      "x/p": {
        ...X_A,
        ...IN,
        ingress: [{ from: [pod("b"), ns("y")], ports: [{ protocol: "UDP" }, { port: 81 }] }],
      },
    },
    allows: ({ from, to, protocol, port }) =>
      to !== "x/a" || ((from === "x/b" || inNs("y", from)) && (protocol === "udp" || port === 81)),
  },
  {
    name: "SCTP is not taken for TCP",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ ports: [{ protocol: "SCTP", port: 80 }] }] } },
    allows: ({ to }) => to !== "x/a",
  },
  {
    name: "endPort: a range",
    policies: { "x/p": { ...X_A, ...IN, ingress: [{ ports: [{ port: 81, endPort: 90 }] }] } },
    allows: ({ to, port }) => to !== "x/a" || port === 81,
  },
  {
    name: "egress denied on the client's side although the server allows it",
    policies: {
      "x/out": { ...X_A, ...OUT, egress: [{ to: [ns("z")] }] },
      "y/in": { ...ALL, ...IN, ingress: [{ from: [ns("x")] }] },
    },
    allows: ({ from, to }) =>
      (from !== "x/a" || to === "z/a") && (!inNs("y", to) || inNs("x", from)),
  },
  {
    name: "egress to a server in another namespace by podSelector and namespaceSelector",
    policies: { "x/p": { ...X_A, ...OUT, egress: [{ to: [{ ...pod("a"), ...ns("y") }] }] } },
    allows: ({ from, to }) => from !== "x/a" || to === "y/a",
  },
  {
    name: "an allow-all policy takes precedence",
    policies: {
      "x/deny": { ...ALL, ...IN },
      "x/allow": { ...ALL, ...IN, ingress: [{}] },
    },
    allows: () => true,
  },
  {
    name: "egress ipBlock with except",
    policies: {
      "x/p": {
        ...X_A,
        ...OUT,
        egress: [
          {
            to: [
              { ipBlock: { cidr: "10.244.0.0/24", except: ["10.244.0.13/32"] } },
              { ipBlock: { cidr: "fd44::/64", except: ["fd44::13/128"] } },
            ],
          },
        ],
      },
    },
    allows: ({ from, to }) => from !== "x/a" || to === "x/b" || to === "y/b",
  },
  {
    name: "an address in both cidr and except of different blocks is allowed",
    policies: {
      "x/p": {
        ...X_A,
        ...IN,
        ingress: [
          { from: [{ ipBlock: { cidr: "10.244.0.0/16", except: ["10.244.0.12/32"] } }] },
          { from: [{ ipBlock: { cidr: "10.244.0.12/32" } }, { ipBlock: { cidr: "fd44::/16" } }] },
        ],
      },
    },
    allows: () => true,
  },
  {
    name: "no policies any more",
    policies: {},
    allows: () => true,
  },
];
