/** A client of the pod resources API, as monitoring agents are. */
import { join } from "node:path";
import { podResourcesMethods } from "#kubelet/podresources/pod-resources-messages.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import type { NodeCluster } from "./cluster.ts";

const { list, get, getAllocatableResources } = podResourcesMethods;

function connect({ machine }: NodeCluster) {
  const client = new GrpcClient(
    `unix://${join(machine.dir, "kubelet/pod-resources/kubelet.sock")}`,
  );
  return { client, [Symbol.dispose]: () => client.close() };
}

export async function listPodResources(cluster: NodeCluster) {
  using connection = connect(cluster);
  return (await connection.client.call(list, {})).podResources;
}

export async function getPodResources(cluster: NodeCluster, podName: string) {
  using connection = connect(cluster);
  const request = { podName, podNamespace: "default" };
  return (await connection.client.call(get, request)).podResources;
}

export async function allocatableResources(cluster: NodeCluster) {
  using connection = connect(cluster);
  return await connection.client.call(getAllocatableResources, {});
}
