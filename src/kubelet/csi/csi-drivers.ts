/**
 * The CSI drivers that are registered on this node. A driver is entered into the CSINode before it
 * counts as registered, so that the scheduler and the attacher know its node ID and limits.
 */
import type { PluginHandler, RegisteredPlugin } from "#kubelet/plugins/plugin-watcher.ts";
import type { CallOptions } from "#lib/grpc/grpc-channel.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import type { GrpcMethod } from "#lib/grpc/grpc-messages.ts";
import { csiNodeMethods } from "./csi-messages.ts";

/** As upstream: every call of the kubelet to a driver. */
const TIMEOUT_MS = 120_000;

export interface CsiDriverInfo {
  readonly name: string;
  readonly nodeId: string;
  /** 0: no limit is known. */
  readonly volumesMax: number;
  readonly topology: Readonly<Record<string, string>>;
}

/** Where drivers are announced: the CSINode object. */
export interface DriverDirectory {
  install(driver: CsiDriverInfo): Promise<void>;
  uninstall(name: string): Promise<void>;
}

export class CsiDriver implements Disposable {
  readonly endpoint: string;
  readonly #client: GrpcClient;
  #capabilities: ReadonlySet<number> | undefined;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
    this.#client = new GrpcClient(endpoint);
  }

  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    options: CallOptions = {},
  ): Promise<Response> {
    return this.#client.call(method, request, { timeoutMs: TIMEOUT_MS, ...options });
  }

  /** One of NODE_CAPABILITY. The driver is asked once. */
  async can(capability: number): Promise<boolean> {
    if (this.#capabilities === undefined) {
      const { capabilities } = await this.call(csiNodeMethods.capabilities, {});
      this.#capabilities = new Set(capabilities.map(({ rpc }) => rpc?.type ?? 0));
    }
    return this.#capabilities.has(capability);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

export class CsiDrivers implements PluginHandler {
  readonly #directory: DriverDirectory;
  readonly #onRegistered: () => void;
  readonly #drivers = new Map<string, CsiDriver>();

  /** `onRegistered`: pods that wait for the driver can be tried again. */
  constructor(directory: DriverDirectory, onRegistered: () => void) {
    this.#directory = directory;
    this.#onRegistered = onRegistered;
  }

  /** Throws in upstream's words if the driver is not registered. */
  get(name: string): CsiDriver {
    const driver = this.#drivers.get(name);
    if (driver !== undefined) return driver;
    throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
  }

  async register({ name, endpoint, versions }: RegisteredPlugin): Promise<void> {
    if (!versions.some((version) => /^v?1\./.test(version))) {
      throw new Error(
        `validation failed for CSI Driver ${name} at endpoint ${endpoint}: none of the versions are supported`,
      );
    }
    const driver = new CsiDriver(endpoint);
    try {
      const info = await driver.call(csiNodeMethods.info, {});
      await this.#directory.install({
        name,
        nodeId: info.nodeId,
        volumesMax: info.maxVolumesPerNode,
        topology: info.accessibleTopology?.segments ?? {},
      });
    } catch (error) {
      driver[Symbol.dispose]();
      throw error;
    }
    this.#drivers.get(name)?.[Symbol.dispose]();
    this.#drivers.set(name, driver);
    this.#onRegistered();
  }

  async deregister({ name, endpoint }: RegisteredPlugin): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver === undefined || driver.endpoint !== endpoint) return;
    this.#drivers.delete(name);
    driver[Symbol.dispose]();
    await this.#directory.uninstall(name);
  }

  [Symbol.dispose](): void {
    for (const driver of this.#drivers.values()) driver[Symbol.dispose]();
  }
}
