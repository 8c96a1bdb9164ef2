/**
 * Writes `status.loadBalancer` of Ingresses: where this controller can be reached. An Ingress that
 * changes its class keeps what its status says, as the next controller writes it.
 */
import type { Ingress, IngressLoadBalancerIngress } from "#api/generated/networking.v1.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import type { Client } from "#client/client.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";

const AT_ONCE = 8;

/** Answers whether every Ingress says it. */
export async function publishStatus(
  { client, logger }: { readonly client: Client; readonly logger: Logger },
  ingresses: readonly Ingress[],
  published: readonly IngressLoadBalancerIngress[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = published.map(({ ip, hostname = "" }) => (ip ? { ip } : { hostname }));
  const stale = ingresses.filter(({ status }) => !isSame(status?.loadBalancer?.ingress, wanted));
  let isWritten = true;
  const write = async ({ metadata }: Ingress): Promise<void> => {
    const { namespace, name = "" } = metadata;
    const body = { status: { loadBalancer: { ingress: wanted } } };
    try {
      const options = { subresource: "status" };
      const key = { namespace, name };
      const result = await client.patch(ingressKind, key, "merge", body, options, signal);
      if (result.ok || result.status.reason === "NotFound") return;
      logger.warn("status of an Ingress refused", { namespace, name, why: result.status.message });
    } catch (error) {
      if (signal.aborted) return;
      logger.warn("status of an Ingress not written", { namespace, name, why: messageOf(error) });
    }
    isWritten = false;
  };
  for (let i = 0; i < stale.length && !signal.aborted; i += AT_ONCE) {
    await Promise.all(stale.slice(i, i + AT_ONCE).map(write));
  }
  return isWritten;
}

function isSame(
  now: readonly IngressLoadBalancerIngress[] = [],
  wanted: readonly IngressLoadBalancerIngress[],
): boolean {
  const keyOf = ({ ip, hostname }: IngressLoadBalancerIngress): string => ip || hostname || "";
  return now.length === wanted.length && now.every((each, i) => keyOf(each) === keyOf(wanted[i]!));
}
