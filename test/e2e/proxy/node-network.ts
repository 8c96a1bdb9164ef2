/**
 * The network of a node inside a test machine: two pods and a client outside the cluster, each in a
 * network namespace with a veth pair to the node. Nothing leads out of the machine.
 */
import assert from "node:assert/strict";
import { type Machine, startMachine } from "../node/machine.ts";

export const NODE_IP = "192.168.77.1";
export const NODE_IP_V6 = "fd77::1";
export const POD_IPS = { pod1: "10.244.0.11", pod2: "10.244.0.12" } as const;
export const POD_IPS_V6 = { pod1: "fd44::11", pod2: "fd44::12" } as const;

export type Place = "node" | "pod1" | "pod2" | "outside";

export interface Answer {
  readonly exitCode: number;
  readonly text: string;
}

export interface NodeNetwork extends AsyncDisposable {
  readonly machine: Machine;
  /** Runs a shell command somewhere; throws if it fails. */
  sh(place: Place, command: string): Promise<string>;
  /** `pod client-address` as the server answers; exit code 7 for a refused connection, 28 for none. */
  get(place: Place, host: string, seconds?: number): Promise<Answer>;
  /** The same over UDP from a port of the client; the text is empty if no answer comes. */
  udp(place: Place, host: string, port: number, fromPort: number): Promise<string>;
}

export async function startNodeNetwork(): Promise<NodeNetwork> {
  const machine = await startMachine();
  const sh = async (place: Place, command: string): Promise<string> => {
    const inside = place === "node" ? [] : ["ip", "netns", "exec", place];
    const [program = "sh", ...args] = [...inside, "sh", "-ec", command];
    const { exitCode, stdout, stderr } = await machine.run(program, args);
    assert.equal(exitCode, 0, `${command}: ${stderr}`);
    return stdout;
  };
  try {
    await sh("node", SETUP);
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
  for (const pod of ["pod1", "pod2"]) {
    machine.start("ip", ["netns", "exec", pod, process.execPath, "-e", SERVER, pod]);
  }
  return {
    machine,
    sh,
    get: async (place, host, seconds = 2) => {
      const inside = place === "node" ? [] : ["ip", "netns", "exec", place];
      const curl = ["curl", "-gsS", "--noproxy", "*", "--max-time", String(seconds)];
      const [program = "curl", ...args] = [...inside, ...curl, `http://${host}/`];
      const { exitCode, stdout } = await machine.run(program, args);
      return { exitCode: exitCode ?? -1, text: stdout };
    },
    udp: (place, host, port, fromPort) =>
      sh(place, `${process.execPath} -e '${UDP_CLIENT}' ${host} ${port} ${fromPort}`),
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

/** Answers over TCP port 8080 and UDP port 5353 with its name and the client's address. */
const SERVER = `
const name = process.argv[1];
const plain = (ip) => ip.replace("::ffff:", "");
require("http").createServer((q, r) => r.end(name + " " + plain(q.socket.remoteAddress))).listen(8080, "::");
const udp = require("dgram").createSocket("udp4");
udp.on("message", (m, from) => udp.send(name, from.port, from.address)).bind(5353);
`;

/** Writes the answer to stdout, or nothing after half a second. */
const UDP_CLIENT = `
const [host, port, from] = process.argv.slice(1);
const udp = require("dgram").createSocket("udp4");
udp.on("message", (m) => { process.stdout.write(m, () => process.exit()); }).on("error", () => process.exit());
udp.bind(Number(from), () => udp.send("hello", Number(port), host));
setTimeout(() => process.exit(), 500);
`;

const SETUP = `
mount -t tmpfs tmpfs /run
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
attach() { # name, address, node's address, IPv6 address, node's IPv6 address
  ip netns add $1
  ip link add $1 type veth peer name eth0 netns $1
  ip addr add $3/32 dev $1; ip -6 addr add $5/128 dev $1 nodad
  ip link set $1 up
  ip route add $2/32 dev $1; ip -6 route add $4/128 dev $1
  ip -n $1 link set lo up
  ip -n $1 addr add $2/32 dev eth0; ip -n $1 -6 addr add $4/128 dev eth0 nodad
  ip -n $1 link set eth0 up
  ip -n $1 route add $3/32 dev eth0; ip -n $1 route add default via $3
  ip -n $1 -6 route add $5/128 dev eth0; ip -n $1 -6 route add default via $5
}
attach pod1 ${POD_IPS.pod1} 10.244.0.1 ${POD_IPS_V6.pod1} fd44::1
attach pod2 ${POD_IPS.pod2} 10.244.0.1 ${POD_IPS_V6.pod2} fd44::1
attach outside 192.168.77.2 ${NODE_IP} fd77::2 ${NODE_IP_V6}
# Where a packet that no rule catches would go.
ip netns add sink; ip link add way-out type veth peer name eth0 netns sink
ip link set way-out up; ip -n sink link set eth0 up
ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev way-out; ip route add 192.0.2.1/32 dev way-out
ip route add default via 192.0.2.1
ip -6 route add fd99::1/128 dev way-out; ip -6 neigh add fd99::1 lladdr 02:00:00:00:00:01 dev way-out
ip -6 route add default via fd99::1
`;
