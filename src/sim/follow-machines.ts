/**
 * Simulated nodes for the machines of a simulated cloud: asks its machine API for machines again and again
 * and makes the Nodes that `decideMachineNodes` wants. The simulation runs them.
 */
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { Client } from "#client/client.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { decideMachineNodes, type Machine } from "./machine-nodes.ts";
import { FAILURE_ANNOTATION, SIMULATED_SELECTOR } from "./names.ts";
import { machineNode, type NodeTemplate } from "./node-template.ts";

const ASK_EVERY_MS = 1_000;
const ANSWER_TIMEOUT_MS = 10_000;

export interface FollowMachinesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly template: NodeTemplate;
  machines(signal: AbortSignal): Promise<readonly Machine[]>;
}

/** Lives until the signal aborts. A cloud that does not answer changes no node. */
export async function followMachines(
  options: FollowMachinesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = options;
  let registered: ReadonlySet<string> = new Set();
  let lastError = "";
  while (!signal.aborted) {
    try {
      registered = await follow(options, registered, signal);
      lastError = "";
    } catch (caught) {
      const error = messageOf(caught);
      if (!signal.aborted && error !== lastError) logger.warn("machines were not read", { error });
      lastError = error;
    }
    await clock.sleep(ASK_EVERY_MS, signal).catch(() => undefined);
  }
}

async function follow(
  { client, clock, template, machines }: FollowMachinesOptions,
  before: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const found = await withTimeout(clock, ANSWER_TIMEOUT_MS, machines, signal);
  const listed = await client.list(nodeKind, { labelSelector: SIMULATED_SELECTOR }, signal);
  if (!listed.ok) throw new Error(listed.status.message);
  const wanted = decideMachineNodes(found, listed.value.items, before);
  for (const machine of wanted.create) {
    const node = machineNode(machine, template, clock.nowMs());
    const made = await client.create(nodeKind, node, {}, signal);
    if (!made.ok && made.status.reason !== "AlreadyExists") throw new Error(made.status.message);
  }
  const mark = async (name: string, failure: string | null): Promise<void> => {
    const patch = { metadata: { annotations: { [FAILURE_ANNOTATION]: failure } } };
    const done = await client.patch(nodeKind, { name }, "merge", patch, {}, signal);
    if (!done.ok && done.status.reason !== "NotFound") throw new Error(done.status.message);
  };
  for (const name of wanted.fail) await mark(name, "unreachable");
  for (const name of wanted.recover) await mark(name, null);
  return wanted.registered;
}

/** Machines of the machine API at this address: `http://127.0.0.1:8090`. */
export async function fetchMachines(url: string, signal: AbortSignal): Promise<readonly Machine[]> {
  const answer = await fetch(new URL("/machines", url), { signal });
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return ((await answer.json()) as { readonly items: readonly Machine[] }).items;
}
