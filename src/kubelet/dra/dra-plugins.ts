/** The DRA drivers that are registered on this node. */
import type { PluginMetrics } from "#kubelet/node/plugin-metrics.ts";
import type { PluginHandler, RegisteredPlugin } from "#kubelet/plugins/plugin-watcher.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import { DRA_VERSIONS, type DraClaim, draMethods } from "./dra-messages.ts";

const TIMEOUT_MS = 45_000;

export interface PreparedDevice {
  /** Requests of the claim that it is for; none: all. */
  readonly requestNames: readonly string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: readonly string[];
}

interface Driver {
  readonly endpoint: string;
  readonly client: GrpcClient;
  readonly methods: ReturnType<typeof draMethods>;
}

export class DraPlugins implements PluginHandler {
  readonly #drivers = new Map<string, Driver>();
  readonly #onRegistered: () => void;
  readonly #metrics: Pick<PluginMetrics, "draCall">;

  constructor(onRegistered: () => void, metrics: Pick<PluginMetrics, "draCall">) {
    this.#onRegistered = onRegistered;
    this.#metrics = metrics;
  }

  async register({ name, endpoint, versions }: RegisteredPlugin): Promise<void> {
    const version = DRA_VERSIONS.find((one) => versions.includes(`${one}.DRAPlugin`));
    if (version === undefined) {
      throw new Error(`none of the provided gRPC services are supported: [${versions.join(" ")}]`);
    }
    this.#drivers.get(name)?.client.close();
    const client = new GrpcClient(endpoint);
    this.#drivers.set(name, { endpoint, client, methods: draMethods(version) });
    this.#onRegistered();
  }

  async deregister({ name, endpoint }: RegisteredPlugin): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver === undefined || driver.endpoint !== endpoint) return;
    this.#drivers.delete(name);
    driver.client.close();
  }

  async prepare(name: string, claim: DraClaim): Promise<readonly PreparedDevice[]> {
    const { client, methods } = this.#get(name);
    const request = { claims: [claim] };
    const options = { timeoutMs: TIMEOUT_MS };
    const { claims } = await this.#metrics.draCall(name, methods.prepare.path, () =>
      client.call(methods.prepare, request, options),
    );
    const result = claims.find(({ uid }) => uid === claim.uid)?.result;
    if (result === undefined) throw new Error("NodePrepareResources skipped 1 ResourceClaims");
    if (result.error === "") return result.devices;
    throw new Error(`NodePrepareResources failed for ResourceClaim ${claim.name}: ${result.error}`);
  }

  async unprepare(name: string, claim: DraClaim): Promise<void> {
    const { client, methods } = this.#get(name);
    const request = { claims: [claim] };
    const options = { timeoutMs: TIMEOUT_MS };
    const { claims } = await this.#metrics.draCall(name, methods.unprepare.path, () =>
      client.call(methods.unprepare, request, options),
    );
    const entry = claims.find(({ uid }) => uid === claim.uid);
    if (entry === undefined) throw new Error("NodeUnprepareResources skipped 1 ResourceClaims");
    const error = entry.result?.error ?? "";
    if (error === "") return;
    throw new Error(`NodeUnprepareResources failed for ResourceClaim ${claim.name}: ${error}`);
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#drivers.values()) client.close();
  }

  #get(name: string): Driver {
    const driver = this.#drivers.get(name);
    if (driver === undefined) throw new Error(`DRA driver ${name} is not registered`);
    return driver;
  }
}
