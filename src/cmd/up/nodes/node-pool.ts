/**
 * The nodes of a cluster that are network namespaces of this machine.
 *
 * Promises:
 * 1. What is asked for is written to nodes.json before it is done, so that the next start does the same.
 * 2. A node whose process ends by itself is started again, with growing delays.
 * 3. A stopped or removed node leaves no process, network, mount or cgroup behind.
 * 4. Changes of one node follow each other; those of different nodes do not wait for each other.
 */
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openCgroups } from "#host/cgroups.ts";
import { removeTree, writeFileWhole } from "#host/files.ts";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { deleteLink } from "#network/ip-command.ts";
import { type NetworkMarks, networkMarks } from "#network/network-marks.ts";
import type { PodNetworkMode } from "#network/pod-network-mode.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { formatKubeconfig } from "#pki/kubeconfig.ts";
import type { ProxyMode } from "#proxy/proxy-mode.ts";
import { type AgentConfig, agentConfigFile } from "../../node/agent-config.ts";
import {
  connectNode,
  ensureHostNetwork,
  type Slowness,
  setPartition,
  setSlowness,
} from "./host-network.ts";
import { nodeCredentials } from "./node-credentials.ts";
import {
  freeName,
  type ListedNode,
  type NodeList,
  nodeAddresses,
  subnetsOf,
  withNode,
  writeNodeList,
} from "./node-list.ts";
import { type RunningNamespace, startNamespace } from "./node-namespace.ts";

export interface NodePoolOptions {
  readonly dataDir: string;
  readonly list: NodeList;
  readonly podNetwork: PodNetworkMode;
  /** Whether NetworkPolicies are enforced on the nodes. */
  readonly networkPolicy: boolean;
  /** What the machine can do unless given. */
  readonly proxyMode: ProxyMode | undefined;
  readonly podRanges: readonly string[];
  readonly clusterDns: readonly string[];
  /** Of the API server, as nodes reach it. */
  readonly server: string;
  /** Addresses of the machine that nodes find on their link. */
  readonly machineAddresses: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Deletes the Node object. */
  deleteNode(name: string): Promise<void>;
}

export type NodeState = "running" | "starting" | "stopped" | "partitioned" | "slow";

export interface NodeView {
  readonly name: string;
  readonly address: string;
  readonly state: NodeState;
  readonly pid: number | undefined;
}

/** A request that cannot be done; the message is for the person who made it. */
export class NodePoolError extends Error {
  override readonly name = "NodePoolError";
}

const NAME_PATTERN = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** A node with its state in this run. */
interface Slot {
  state: NodeState;
  running: RunningNamespace | undefined;
  /** Ends the watch over its process. */
  life: AbortController | undefined;
  work: Promise<unknown>;
}

export class NodePool {
  readonly #options: NodePoolOptions;
  readonly #marks: NetworkMarks;
  readonly #slots = new Map<string, Slot>();
  #list: NodeList;

  constructor(options: NodePoolOptions) {
    this.#options = options;
    this.#list = options.list;
    this.#marks = networkMarks(options.dataDir);
  }

  /** Starts all that are not stopped; resolves when they are ready. */
  async startAll(): Promise<void> {
    const wanted = this.#list.nodes.filter(({ isStopped }) => !isStopped);
    await Promise.all(wanted.map((node) => this.#inTurn(node.name, () => this.#start(node))));
  }

  list(): readonly NodeView[] {
    return this.#list.nodes.map(({ name, address }) => {
      const slot = this.#slots.get(name);
      return { name, address, state: slot?.state ?? "stopped", pid: slot?.running?.pid };
    });
  }

  async add(wanted: string | undefined): Promise<NodeView> {
    const name = wanted ?? freeName(this.#list);
    if (!NAME_PATTERN.test(name)) throw new NodePoolError(`invalid name of a node: ${name}`);
    if (this.#list.nodes.some((node) => node.name === name)) {
      throw new NodePoolError(`there is a node ${name} already`);
    }
    await this.#save(withNode(this.#list, name));
    await this.#inTurn(name, () => this.#start(this.#listed(name)));
    return this.#view(name);
  }

  async remove(name: string): Promise<void> {
    this.#listed(name);
    await this.#inTurn(name, async () => {
      await this.#stop(name, "end");
      await this.#save({
        ...this.#list,
        nodes: this.#list.nodes.filter((node) => node.name !== name),
      });
      await this.#options.deleteNode(name);
      await removeTree(dirname(agentConfigFile(this.#options.dataDir, name)));
      this.#slots.delete(name);
    });
  }

  /** As if the machine lost its power: the cluster learns of it when the node's lease runs out. */
  async stop(name: string): Promise<void> {
    this.#listed(name);
    await this.#inTurn(name, async () => {
      await this.#saveStopped(name, true);
      await this.#stop(name, "powerOff");
    });
  }

  async start(name: string): Promise<NodeView> {
    this.#listed(name);
    await this.#inTurn(name, async () => {
      await this.#saveStopped(name, false);
      if (this.#slots.get(name)?.running === undefined) await this.#start(this.#listed(name));
    });
    return this.#view(name);
  }

  async partition(name: string, isCut: boolean): Promise<void> {
    const slot = this.#runningSlot(name);
    await setPartition(this.#marks, name, isCut);
    slot.state = isCut ? "partitioned" : "running";
  }

  async slow(name: string, slowness: Slowness): Promise<void> {
    const slot = this.#runningSlot(name);
    try {
      await setSlowness(this.#marks, name, slowness);
    } catch (error) {
      const isUnknown = /qdisc kind is unknown|No such file/.test(messageOf(error));
      const why = "the kernel of this machine has no netem, which --delay and --loss need";
      throw new NodePoolError(isUnknown ? why : messageOf(error));
    }
    slot.state = Object.keys(slowness).length === 0 ? "running" : "slow";
  }

  /** Ends all nodes with their pods. They start again with the cluster. */
  async endAll(): Promise<void> {
    const names = [...this.#slots.keys()];
    await Promise.allSettled(
      names.map((name) => this.#inTurn(name, () => this.#stop(name, "end"))),
    );
  }

  #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const slot = this.#slot(name);
    const next = slot.work.catch(() => undefined).then(work);
    slot.work = next;
    return next;
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name) ?? {
      ...{ state: "stopped", running: undefined, life: undefined },
      work: Promise.resolve(),
    };
    this.#slots.set(name, slot);
    return slot;
  }

  #runningSlot(name: string): Slot {
    this.#listed(name);
    const slot = this.#slot(name);
    if (slot.running === undefined) throw new NodePoolError(`node ${name} does not run`);
    return slot;
  }

  #listed(name: string): ListedNode {
    const node = this.#list.nodes.find((one) => one.name === name);
    if (node !== undefined) return node;
    const known = this.#list.nodes.map((one) => one.name).join(", ") || "none";
    throw new NodePoolError(
      `there is no such node: ${name} (of this machine's namespaces: ${known})`,
    );
  }

  #view(name: string): NodeView {
    return this.list().find((node) => node.name === name)!;
  }

  async #saveStopped(name: string, isStopped: boolean): Promise<void> {
    const nodes = this.#list.nodes.map((node) =>
      node.name === name ? { ...node, isStopped } : node,
    );
    await this.#save({ ...this.#list, nodes });
  }

  async #save(list: NodeList): Promise<void> {
    this.#list = list;
    await writeNodeList(this.#options.dataDir, list);
  }

  async #start(node: ListedNode): Promise<void> {
    const slot = this.#slot(node.name);
    slot.state = "starting";
    try {
      slot.running = await this.#launch(node);
      await slot.running.ready;
      slot.state = "running";
    } catch (error) {
      slot.running = undefined;
      slot.state = "stopped";
      await this.#cleanUp(node.name);
      throw error;
    }
    slot.life = new AbortController();
    void this.#supervise(node, slot, slot.running, slot.life.signal);
  }

  async #launch(node: ListedNode): Promise<RunningNamespace> {
    const { dataDir, podNetwork, podRanges, machineAddresses, clock, logger } = this.#options;
    const { name } = node;
    const paths = nodePaths(dataDir, name);
    const subnets = subnetsOf(this.#list, podRanges);
    await ensureHostNetwork({ marks: this.#marks, subnets, podRanges });
    await this.#writeConfig(node);
    return startNamespace({
      ...{ name, machineAddresses, gateways: subnets.map(({ gateway }) => gateway) },
      addresses: nodeAddresses(this.#list, node, podRanges).map((address, i) => {
        const { cidr } = subnets[i]!;
        return `${address}${cidr.slice(cidr.indexOf("/"))}`;
      }),
      ...{
        cniFolders: podNetwork === "none" ? { conf: paths.cniConf, bin: paths.cniBin } : undefined,
        configFile: agentConfigFile(dataDir, name),
        clock,
        logger: logger.child({ node: name }),
      },
      connect: (pid) => connectNode(this.#marks, name, pid),
    });
  }

  async #writeConfig(node: ListedNode): Promise<void> {
    const { name } = node;
    const { dataDir, server, clock, podNetwork, podRanges, clusterDns, networkPolicy, proxyMode } =
      this.#options;
    const addresses = nodeAddresses(this.#list, node, podRanges);
    const credentials = nodeCredentials(dataDir, name, addresses, clock.nowMs());
    const { serving, clientCa: authorityPem } = credentials;
    const file = agentConfigFile(dataDir, name);
    const write = async (user: string, client: KeyPair): Promise<string> => {
      const path = join(dirname(file), `${user}.kubeconfig`);
      const content = formatKubeconfig({ server, authorityPem, user, client });
      await writeFileWhole(path, content, { mode: 0o600 });
      return path;
    };
    const config: AgentConfig = {
      ...{ name, addresses, dataDir, clusterDns, podNetwork, podRanges, networkPolicy, proxyMode },
      kubeconfig: await write("kubelet", credentials.client()),
      proxyKubeconfig: await write("kube-proxy", credentials.proxy()),
      serving: { ...serving, clientCa: authorityPem },
    };
    await writeFileWhole(file, `${JSON.stringify(config)}\n`, { mode: 0o600 });
  }

  /** Starts a node again whose process ended by itself. */
  async #supervise(
    node: ListedNode,
    slot: Slot,
    first: RunningNamespace,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, random, logger } = this.#options;
    const backoff = new Backoff({ baseMs: 500, capMs: 30_000, jitter: 0.2, random });
    for (let running = first; ; ) {
      await running.ended;
      if (signal.aborted) return;
      logger.error("a node ended and is started again", { node: node.name });
      slot.state = "starting";
      await this.#cleanUp(node.name);
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      if (signal.aborted) return;
      const next = await this.#launch(node).catch((error: unknown) => {
        logger.error("a node did not start", { node: node.name, error: messageOf(error) });
        return undefined;
      });
      if (next === undefined) continue;
      if (signal.aborted) return next.powerOff();
      slot.running = next;
      running = next;
      next.ready.then(
        () => {
          slot.state = "running";
          backoff.reset();
        },
        () => undefined, // it ended, and is started again
      );
    }
  }

  async #stop(name: string, how: "end" | "powerOff"): Promise<void> {
    const slot = this.#slot(name);
    slot.life?.abort();
    slot.life = undefined;
    await slot.running?.[how]();
    slot.running = undefined;
    slot.state = "stopped";
    await this.#cleanUp(name);
  }

  /** What the end of a namespace does not take away. */
  async #cleanUp(name: string): Promise<void> {
    const { dataDir, clock } = this.#options;
    const { cgroupRoot, containerdState } = nodePaths(dataDir, name);
    // The kernel takes the cable away with the namespace, but later.
    await deleteLink(this.#marks.cableTo(name));
    const cgroups = await openCgroups(clock);
    await cgroups.remove(cgroupRoot);
    await rm(containerdState, { recursive: true, force: true });
  }
}
