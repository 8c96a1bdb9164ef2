/**
 * A cloud in memory: machines, load balancers and routes. Machines appear, stop and vanish by call or by
 * schedule; every operation takes a configurable time, may exceed a quota and can be made to fail.
 *
 * Promises:
 * 1. Time is the given clock's: with a virtual clock a test decides when anything happens.
 * 2. Every operation is counted by its name, failed ones too.
 * 3. Nothing grows without limit: quotas have defaults.
 */
import type { Node } from "#api/generated/core.v1.ts";
import { type AddressRange, addressAt, addressRange } from "#api/meta/address-range.ts";
import { parseCidr } from "#api/validation/ip.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Route } from "../../provider.ts";

export const SIMULATED = "simulated";

export interface Machine {
  readonly id: string;
  /** The name of its Node. */
  readonly name: string;
  readonly state: "running" | "stopped";
  readonly type: string;
  readonly zone: string;
  readonly region: string;
  readonly address: string;
}

export interface SimulatedBalancer {
  /** `namespace/name` of its Service. */
  readonly service: string;
  readonly ip: string;
  readonly ports: readonly string[];
  readonly nodes: readonly string[];
  /** Where each node says whether it has endpoints; of Services with externalTrafficPolicy Local. */
  readonly healthCheckPort: number | undefined;
  readonly sourceRanges: readonly string[];
}

export type Operation =
  | "machine.create"
  | "machine.delete"
  | "machine.get"
  | "balancer.get"
  | "balancer.ensure"
  | "balancer.update"
  | "balancer.remove"
  | "route.list"
  | "route.create"
  | "route.remove";

export interface Fault {
  readonly operation: Operation;
  readonly message: string;
  /** How many calls fail; all until it is taken away, unless given. */
  readonly times?: number;
  readonly retryAfterMs?: number;
}

export interface Quota {
  readonly machines: number;
  readonly balancers: number;
  readonly routes: number;
}

export interface SimulatedCloudOptions {
  readonly clock: Clock;
  /** What each operation takes. */
  readonly latencyMs?: number;
  readonly quota?: Partial<Quota>;
  /** Of load balancers. */
  readonly range?: string;
}

const QUOTA: Quota = { machines: 10_000, balancers: 10_000, routes: 20_000 };
const RANGE = "203.0.112.0/18";
const FAULTS_MAX = 100;

/** The cloud refuses a call; the code is the HTTP status. */
export class CloudError extends Error {
  override readonly name = "CloudError";
  readonly code: "NotFound" | "QuotaExceeded" | "Conflict" | "Fault";
  readonly retryAfterMs: number | undefined;
  constructor(code: CloudError["code"], message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export class SimulatedCloud {
  readonly #clock: Clock;
  readonly #quota: Quota;
  readonly #range: AddressRange;
  readonly #machines = new Map<string, Machine>();
  readonly #balancers = new Map<string, SimulatedBalancer>();
  readonly #routes = new Map<string, Route>();
  readonly #calls = new Map<Operation, number>();
  readonly #freeIps: string[] = [];
  #faults: Fault[] = [];
  #latencyMs: number;
  #machinesMade = 0;
  #ipsGiven = 0;

  constructor({ clock, latencyMs = 0, quota = {}, range = RANGE }: SimulatedCloudOptions) {
    this.#clock = clock;
    this.#latencyMs = latencyMs;
    this.#quota = { ...QUOTA, ...quota };
    const cidr = parseCidr(range);
    if (cidr === undefined) throw new Error(`${JSON.stringify(range)} is not a CIDR`);
    this.#range = addressRange(cidr, range);
  }

  /** How often an operation was called. */
  calls(operation: Operation): number {
    return this.#calls.get(operation) ?? 0;
  }

  setLatency(latencyMs: number): void {
    this.#latencyMs = latencyMs;
  }

  get faults(): readonly Fault[] {
    return this.#faults;
  }

  setFaults(faults: readonly Fault[]): void {
    if (faults.length > FAULTS_MAX) {
      throw new CloudError("QuotaExceeded", `at most ${FAULTS_MAX} faults`);
    }
    this.#faults = [...faults];
  }

  machines(): readonly Machine[] {
    return [...this.#machines.values()];
  }

  balancers(): readonly SimulatedBalancer[] {
    return [...this.#balancers.values()];
  }

  routes(): readonly Route[] {
    return [...this.#routes.values()];
  }

  async createMachine(
    draft: { readonly name: string } & Partial<Omit<Machine, "id" | "state">>,
    signal: AbortSignal,
  ): Promise<Machine> {
    await this.#begin("machine.create", signal);
    if (this.machines().some(({ name }) => name === draft.name)) {
      throw new CloudError("Conflict", `machine ${JSON.stringify(draft.name)} exists already`);
    }
    this.#check(this.#machines.size, this.#quota.machines, "machines");
    const number = ++this.#machinesMade;
    const machine: Machine = {
      id: `m-${number}`,
      name: draft.name,
      state: "running",
      type: draft.type ?? "small",
      zone: draft.zone ?? "zone-a",
      region: draft.region ?? "region-1",
      address: draft.address ?? `192.0.2.${number % 256}`,
    };
    this.#machines.set(machine.id, machine);
    return machine;
  }

  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    await this.#begin("machine.delete", signal);
    this.#mustFind(id);
    this.#machines.delete(id);
  }

  /** Stops or starts a machine. */
  async setMachineState(
    id: string,
    state: Machine["state"],
    signal: AbortSignal,
  ): Promise<Machine> {
    await this.#begin("machine.get", signal);
    const machine = { ...this.#mustFind(id), state };
    this.#machines.set(id, machine);
    return machine;
  }

  /** The machine of a Node: by provider ID, else by name. */
  async machineOf({ metadata, spec }: Node, signal: AbortSignal): Promise<Machine | undefined> {
    await this.#begin("machine.get", signal);
    const prefix = `${SIMULATED}://`;
    if (spec.providerID?.startsWith(prefix)) {
      return this.#machines.get(spec.providerID.slice(prefix.length));
    }
    return this.machines().find(({ name }) => name === metadata.name);
  }

  async balancerOf(service: string, signal: AbortSignal): Promise<SimulatedBalancer | undefined> {
    await this.#begin("balancer.get", signal);
    return this.#balancers.get(service);
  }

  async ensureBalancer(
    wanted: Omit<SimulatedBalancer, "ip">,
    signal: AbortSignal,
  ): Promise<SimulatedBalancer> {
    await this.#begin("balancer.ensure", signal);
    const before = this.#balancers.get(wanted.service);
    if (before === undefined) {
      this.#check(this.#balancers.size, this.#quota.balancers, "load balancers");
    }
    const balancer = { ...wanted, ip: before?.ip ?? this.#takeIp() };
    this.#balancers.set(wanted.service, balancer);
    return balancer;
  }

  async updateBalancer(
    service: string,
    nodes: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#begin("balancer.update", signal);
    const balancer = this.#balancers.get(service);
    if (balancer === undefined) throw new CloudError("NotFound", `no load balancer of ${service}`);
    this.#balancers.set(service, { ...balancer, nodes });
  }

  async removeBalancer(service: string, signal: AbortSignal): Promise<void> {
    await this.#begin("balancer.remove", signal);
    const balancer = this.#balancers.get(service);
    if (balancer === undefined) return;
    this.#balancers.delete(service);
    this.#freeIps.push(balancer.ip);
  }

  async listRoutes(signal: AbortSignal): Promise<readonly Route[]> {
    await this.#begin("route.list", signal);
    return this.routes();
  }

  async createRoute(route: Route, signal: AbortSignal): Promise<void> {
    await this.#begin("route.create", signal);
    this.#check(this.#routes.size, this.#quota.routes, "routes");
    this.#routes.set(route.name, route);
  }

  async removeRoute(name: string, signal: AbortSignal): Promise<void> {
    await this.#begin("route.remove", signal);
    this.#routes.delete(name);
  }

  async #begin(operation: Operation, signal: AbortSignal): Promise<void> {
    this.#calls.set(operation, this.calls(operation) + 1);
    if (this.#latencyMs > 0) await this.#clock.sleep(this.#latencyMs, signal);
    const fault = this.#faults.find((one) => one.operation === operation);
    if (fault === undefined) return;
    this.#faults = this.#faults.flatMap((one) => {
      if (one !== fault || one.times === undefined) return [one];
      return one.times <= 1 ? [] : [{ ...one, times: one.times - 1 }];
    });
    throw new CloudError("Fault", fault.message, fault.retryAfterMs);
  }

  #mustFind(id: string): Machine {
    const machine = this.#machines.get(id);
    if (machine === undefined) throw new CloudError("NotFound", `no machine ${JSON.stringify(id)}`);
    return machine;
  }

  #check(used: number, quota: number, what: string): void {
    if (used < quota) return;
    throw new CloudError("QuotaExceeded", `the quota of ${quota} ${what} is used up`);
  }

  #takeIp(): string {
    const free = this.#freeIps.pop();
    if (free !== undefined) return free;
    if (BigInt(this.#ipsGiven) > this.#range.last - this.#range.first) {
      throw new CloudError("QuotaExceeded", `all addresses of ${this.#range.cidr} are in use`);
    }
    return addressAt(this.#range, this.#ipsGiven++);
  }
}
