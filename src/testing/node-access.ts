/**
 * The API server's way to the kubelets of a test cluster's simulated nodes (`kubectl logs`, `kubectl top`).
 * Their server and its certificates are made for the first connection: most tests need none.
 */
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { TargetTls } from "#apiserver/proxy/target.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { nodeIndex } from "#sim/node-address.ts";
import type { RunningSimulation } from "#sim/run-simulation.ts";
import type { SimulatedServer } from "#sim/simulated-kubelet-server.ts";
import { newTestAuthority } from "./test-authority.ts";

const API_SERVER = {
  commonName: "kube-apiserver-kubelet-client",
  organizations: ["system:masters"],
};
const KUBELET_PORT = 10_250;

interface Keys {
  readonly authorityPem: string;
  readonly serving: KeyPair;
  readonly client: KeyPair;
}

export class NodeAccess {
  #simulation: RunningSimulation | undefined;
  #server: Promise<SimulatedServer> | undefined;
  #keys: Keys | undefined;

  /** The nodes that run now: those before have ended, and their server with them. */
  use(simulation: RunningSimulation): void {
    this.#simulation = simulation;
    this.#server = undefined;
  }

  /** What the API server shows to kubelets. */
  tls(): TargetTls {
    const { client, authorityPem } = this.#made();
    return { cert: client.certificatePem, key: client.keyPem, ca: authorityPem, verify: false };
  }

  /** Connects to a node's kubelet, or to any other address as it is. */
  async connect(host: string, port: number): Promise<Duplex> {
    if (nodeIndex(host) === undefined || port !== KUBELET_PORT) return connected(host, port);
    const { serving, authorityPem } = this.#made();
    if (this.#simulation === undefined) throw new Error("the cluster has no nodes");
    this.#server ??= this.#simulation.serve({
      ...{ address: undefined, port: 0, clientCa: authorityPem },
      tls: { cert: serving.certificatePem, key: serving.keyPem },
    });
    return connected(host, (await this.#server).port);
  }

  #made(): Keys {
    if (this.#keys !== undefined) return this.#keys;
    const authority = newTestAuthority();
    this.#keys = {
      authorityPem: authority.certificatePem,
      serving: authority.issue({ commonName: "k8ts-test-node" }, "server auth"),
      client: authority.issue(API_SERVER, "client auth"),
    };
    return this.#keys;
  }
}

function connected(host: string, port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}
