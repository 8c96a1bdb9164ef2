/**
 * Five pods as network namespaces: four on one bridge of a node, as CNI's bridge plug-in connects them,
 * and one behind another link, as a pod of another node. Each serves TCP on the ports 80 and 81 and UDP
 * on port 80, with both IP families. Nothing leads out of the machine.
 */
import assert from "node:assert/strict";
import { type Machine, startMachine } from "../node/machine.ts";

export const PODS = {
  "x/a": { ip: "10.244.0.11", ip6: "fd44::11", node: "node1" },
  "x/b": { ip: "10.244.0.12", ip6: "fd44::12", node: "node1" },
  "y/a": { ip: "10.244.0.13", ip6: "fd44::13", node: "node1" },
  "y/b": { ip: "10.244.0.14", ip6: "fd44::14", node: "node1" },
  "z/a": { ip: "10.244.1.15", ip6: "fd44:1::15", node: "node2" },
} as const;

export type PodName = keyof typeof PODS;

export const POD_NAMES = Object.keys(PODS) as PodName[];

/** `tcp 10.244.0.11 80` */
export type Target = `${"tcp" | "udp"} ${string} ${number}`;

export interface PodNetwork extends AsyncDisposable {
  readonly machine: Machine;
  sh(command: string): Promise<string>;
  /** Which of the targets answer to a pod, or to a process of the node. */
  probe(from: PodName | "node", targets: readonly Target[]): Promise<ReadonlySet<Target>>;
}

export async function startPodNetwork(): Promise<PodNetwork> {
  const machine = await startMachine();
  const sh = async (command: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await machine.run("sh", ["-ec", command]);
    assert.equal(exitCode, 0, `${command}: ${stderr}`);
    return stdout;
  };
  try {
    await sh(SETUP);
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
  for (const pod of POD_NAMES) {
    machine.start("ip", ["netns", "exec", netnsOf(pod), process.execPath, "-e", SERVER]);
  }
  return {
    machine,
    sh,
    probe: async (from, targets) => {
      const inside = from === "node" ? [] : ["ip", "netns", "exec", netnsOf(from)];
      const command = [...inside, process.execPath, "-e", CLIENT, ...targets];
      const { stdout } = await machine.run(command[0]!, command.slice(1));
      return new Set(stdout.split("\n").filter((line) => line !== "") as Target[]);
    },
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

export function netnsOf(pod: PodName): string {
  return pod.replace("/", "-");
}

const SERVER = `
const net = require("net"), dgram = require("dgram");
for (const port of [80, 81]) net.createServer((socket) => {
  socket.on("error", () => {}).on("data", (data) => socket.write(data));
}).listen(port, "::");
const udp = dgram.createSocket("udp6");
udp.on("message", (data, from) => udp.send(data, from.port, from.address)).bind(80, "::");
`;

/** Prints the targets that answer, all within a second. */
const CLIENT = `
const net = require("net"), dgram = require("dgram");
for (const target of process.argv.slice(1)) {
  const [protocol, host, port] = target.split(" ");
  const answered = () => console.log(target);
  if (protocol === "tcp") {
    const socket = net.connect({ host, port: Number(port) }, () => { answered(); socket.destroy(); });
    socket.on("error", () => {});
    setTimeout(() => socket.destroy(), 500);
  } else {
    const udp = dgram.createSocket(host.includes(":") ? "udp6" : "udp4");
    udp.on("message", () => { answered(); udp.close(); }).on("error", () => {});
    udp.send("hello", Number(port), host);
    setTimeout(() => { try { udp.close(); } catch {} }, 500);
  }
}
`;

const SETUP = `
mount -t tmpfs tmpfs /run
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip link add cni0 type bridge
ip addr add 10.244.0.1/24 dev cni0; ip -6 addr add fd44::1/64 dev cni0 nodad; ip link set cni0 up
inside() { # name, address, gateway, IPv6 address, IPv6 gateway
  ip -n $1 link set lo up
  ip -n $1 addr add $2/24 dev eth0; ip -n $1 -6 addr add $4/64 dev eth0 nodad
  ip -n $1 link set eth0 up
  ip -n $1 route add default via $3; ip -n $1 -6 route add default via $5
}
attach() { # name, address, IPv6 address
  ip netns add $1
  ip link add v$1 type veth peer name eth0 netns $1
  ip link set v$1 master cni0; ip link set v$1 up
  bridge link set dev v$1 hairpin on
  inside $1 $2 10.244.0.1 $3 fd44::1
}
${POD_NAMES.filter((pod) => PODS[pod].node === "node1")
  .map((pod) => `attach ${netnsOf(pod)} ${PODS[pod].ip} ${PODS[pod].ip6}`)
  .join("\n")}
# A pod of another node, whose addresses are routed.
ip netns add z-a
ip link add vz-a type veth peer name eth0 netns z-a
ip addr add 10.244.1.1/24 dev vz-a; ip -6 addr add fd44:1::1/64 dev vz-a nodad; ip link set vz-a up
inside z-a ${PODS["z/a"].ip} 10.244.1.1 ${PODS["z/a"].ip6} fd44:1::1
# Where packets without another route would go.
ip netns add sink; ip link add way-out type veth peer name eth0 netns sink
ip link set way-out up; ip -n sink link set eth0 up
ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev way-out; ip route add 192.0.2.1/32 dev way-out
ip route add default via 192.0.2.1
`;
