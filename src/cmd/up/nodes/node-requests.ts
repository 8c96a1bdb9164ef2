/** What `k8ts node` may ask of the process that runs the cluster, and the answers. */
import type { ControlAnswer } from "./control-socket.ts";
import type { Slowness } from "./host-network.ts";
import { type NodePool, NodePoolError } from "./node-pool.ts";

export type NodeRequest =
  | { readonly verb: "ls" }
  | { readonly verb: "add"; readonly name?: string }
  | { readonly verb: "rm" | "stop" | "start"; readonly name: string }
  | { readonly verb: "partition"; readonly name: string; readonly heal: boolean }
  | { readonly verb: "slow"; readonly name: string; readonly slowness: Slowness };

export async function answerNodeRequest(pool: NodePool, question: unknown): Promise<ControlAnswer> {
  try {
    return { ok: true, value: (await carryOut(pool, question as NodeRequest)) ?? null };
  } catch (error) {
    if (error instanceof NodePoolError) return { ok: false, message: error.message };
    throw error;
  }
}

async function carryOut(pool: NodePool, request: NodeRequest): Promise<unknown> {
  switch (request.verb) {
    case "ls":
      return pool.list();
    case "add":
      return pool.add(request.name);
    case "rm":
      return pool.remove(request.name);
    case "stop":
      return pool.stop(request.name);
    case "start":
      return pool.start(request.name);
    case "partition":
      return pool.partition(request.name, !request.heal);
    case "slow":
      return pool.slow(request.name, request.slowness);
    default:
      throw new NodePoolError("unknown request");
  }
}
