/** How to reach a node's kubelet. */

import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { failure, notFoundStatus, type Result, success, unknownStatus } from "#api/meta/status.ts";
import type { Objects } from "../storage/objects.ts";
import type { ConnectStream } from "./connect-stream.ts";
import type { Target, TargetTls } from "./target.ts";

const DEFAULT_PORT = 10_250;

export interface KubeletOptions {
  readonly objects: Objects;
  /** In order of preference. */
  readonly addressTypes: readonly string[];
  /** When to give up connecting to one. */
  readonly connectWithinMs?: number;
  /** Read anew for each connection: certificates are renewed. */
  tls(): TargetTls;
  /** Makes connections to nodes, pods and Services; they are made directly without. */
  readonly connect?: ConnectStream | undefined;
}

export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

export class Kubelets {
  readonly #options: KubeletOptions;

  constructor(options: KubeletOptions) {
    this.#options = options;
  }

  get connect(): ConnectStream | undefined {
    return this.#options.connect;
  }

  /** `asker`: the resource that is asked for, which upstream names when the node is not there. */
  addressOf(nodeName: string, asker: string): Result<KubeletAddress> {
    const node = this.#options.objects.get(nodeKind, "", nodeName);
    if (node === undefined) {
      return failure(notFoundStatus({ group: "", resource: asker }, nodeName));
    }
    const host = this.#hostOf(node);
    if (host === undefined) {
      const known = (node.status?.addresses ?? []).map(
        ({ type, address }) => `{${type} ${address}}`,
      );
      const message = `no preferred addresses found; known addresses: [${known.join(" ")}]`;
      return failure(unknownStatus(message));
    }
    const reported = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    return success({ host, port: reported > 0 ? reported : DEFAULT_PORT });
  }

  /** `skipVerify`: the client asks not to check the kubelet's certificate. */
  target(nodeName: string, path: string, skipVerify = false): Result<Target> {
    const address = this.addressOf(nodeName, "pods");
    if (!address.ok) return address;
    const { connectWithinMs } = this.#options;
    const tls = this.#options.tls();
    return success({
      secure: true,
      ...address.value,
      path,
      ...(connectWithinMs === undefined ? {} : { connectWithinMs }),
      connect: this.#options.connect,
      tls: skipVerify ? { ...tls, verify: false } : tls,
      shown: `https://${address.value.host}:${address.value.port}${path}`,
    });
  }

  /** Whether the node's kubelet says that it can do this. */
  declares(nodeName: string, feature: string): boolean {
    const node = this.#options.objects.get(nodeKind, "", nodeName);
    return node?.status?.declaredFeatures?.includes(feature) ?? false;
  }

  #hostOf({ status }: Node): string | undefined {
    const addresses = status?.addresses ?? [];
    for (const type of this.#options.addressTypes) {
      const found = addresses.find((one) => one.type === type);
      if (found !== undefined) return found.address;
    }
    return undefined;
  }
}
