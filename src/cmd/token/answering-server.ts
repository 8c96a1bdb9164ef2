/**
 * The API server that a printed join command names. It is the one of cluster-info while that answers;
 * the machine it names may be gone, and then it is another API server of the control plane.
 */
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import type { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { ClusterInfo } from "#kubelet/bootstrap/cluster-info.ts";

const ANSWER_WAIT_MS = 3_000;

/** `https://192.0.2.1:6443`. That of cluster-info if none answers. */
export async function answeringServer(
  client: Client,
  { server, authorityPem }: ClusterInfo,
  signal: AbortSignal,
): Promise<string> {
  if (await answers(server, authorityPem, signal)) return server;
  const labelSelector = "kubernetes.io/service-name=kubernetes";
  const listed = await client.list(
    endpointSliceKind,
    { namespace: "default", labelSelector },
    signal,
  );
  const others = listed.ok ? serversOf(listed.value.items) : [];
  const answered = await Promise.all(others.map((one) => answers(one, authorityPem, signal)));
  return others.find((_, at) => answered[at]) ?? server;
}

/** The API servers that EndpointSlices of the Service `kubernetes` name. */
function serversOf(slices: readonly EndpointSlice[]): readonly string[] {
  return slices.flatMap(({ endpoints, ports }) => {
    const port = ports?.find(({ name }) => name === "https")?.port;
    if (port === undefined) return [];
    return (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses ?? [])
      .map((address) => `https://${address.includes(":") ? `[${address}]` : address}:${port}`);
  });
}

/** Whatever it answers: a server with a certificate of this authority is one of the cluster's. */
async function answers(server: string, ca: string, signal: AbortSignal): Promise<boolean> {
  using transport = new HttpsTransport({ server, ca }, "k8ts-token");
  const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WAIT_MS)]);
  return await transport.raw("/version", limited).then(
    () => true,
    () => {
      signal.throwIfAborted();
      return false;
    },
  );
}
