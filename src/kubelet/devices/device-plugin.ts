/** One device plug-in: its devices as it lists them, and the calls to it. */
import { messageOf } from "#lib/caught.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import {
  type ContainerAllocateResponse,
  deviceMethods,
  type PluginDevice,
} from "./device-messages.ts";

const TIMEOUT_MS = 30_000;
/** One resource's devices that are kept; more are ignored. */
const DEVICES_MAX = 10_000;

export interface DevicePluginHandler {
  onDevices(devices: readonly PluginDevice[]): void;
  /** The plug-in is gone, with the reason. */
  onEnd(why: string): void;
}

export class DevicePlugin implements Disposable {
  readonly #client: GrpcClient;
  readonly #end = new AbortController();
  #options = { preStartRequired: false, getPreferredAllocationAvailable: false };

  constructor(socket: string) {
    this.#client = new GrpcClient(socket);
  }

  /** Resolves when the plug-in was reached; its lists follow until it ends. */
  async start(handler: DevicePluginHandler): Promise<void> {
    this.#options = await this.#client.call(
      deviceMethods.getDevicePluginOptions,
      {},
      { timeoutMs: TIMEOUT_MS },
    );
    void this.#follow(handler);
  }

  async #follow(handler: DevicePluginHandler): Promise<void> {
    const { signal } = this.#end;
    let why = "the stream ended";
    try {
      for await (const { devices } of this.#client.stream(deviceMethods.listAndWatch, {}, signal)) {
        handler.onDevices(devices.slice(0, DEVICES_MAX));
      }
    } catch (error) {
      why = messageOf(error);
    }
    if (!signal.aborted) handler.onEnd(why);
  }

  /** Undefined if the plug-in has no preference. */
  async preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ): Promise<readonly string[] | undefined> {
    if (!this.#options.getPreferredAllocationAvailable) return undefined;
    const { containerResponses } = await this.#client.call(
      deviceMethods.getPreferredAllocation,
      {
        containerRequests: [
          {
            availableDeviceIds: available,
            mustIncludeDeviceIds: mustInclude,
            allocationSize: size,
          },
        ],
      },
      { timeoutMs: TIMEOUT_MS },
    );
    return containerResponses[0]?.deviceIds;
  }

  async allocate(deviceIds: readonly string[]): Promise<ContainerAllocateResponse> {
    const { containerResponses } = await this.#client.call(
      deviceMethods.allocate,
      { containerRequests: [{ deviceIds }] },
      { timeoutMs: TIMEOUT_MS },
    );
    const [response] = containerResponses;
    if (response === undefined) throw new Error("no containers return in allocation response");
    return response;
  }

  async preStart(deviceIds: readonly string[]): Promise<void> {
    if (!this.#options.preStartRequired) return;
    await this.#client.call(
      deviceMethods.preStartContainer,
      { deviceIds },
      { timeoutMs: TIMEOUT_MS },
    );
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    this.#client.close();
  }
}
