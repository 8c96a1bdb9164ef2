/**
 * Enforces NetworkPolicies on a node: follows policies, pods and namespaces, and keeps the kernel's
 * rules equal to what `rules/` decides.
 *
 * Promises:
 * 1. Nothing is written before all policies, pods and namespaces are known.
 * 2. A change is written at once; while one is written, further ones gather for the next.
 * 3. A failed write is tried again, whole, with growing delays.
 * 4. Rules that were flushed by others are written again within `checkPeriodMs`.
 * 5. Connections that were allowed go on when policies change.
 * 6. When the signal aborts the rules are removed.
 */

import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { namespaceResource, networkPolicyResource, podResource } from "#client/node-resources.ts";
import { SharedInformers } from "#client/shared-informers.ts";
import { runProgram } from "#host/run-program.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { WakeUp } from "#lib/async/wake-up.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { enableBridgeNetfilter } from "./bridge-netfilter.ts";
import { PolicyWriter } from "./nft/policy-writer.ts";
import { decidePolicyRules } from "./rules/decide-policy-rules.ts";
import { policyPodOf } from "./rules/pod-index.ts";

export interface NetworkPolicyOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodeName: string;
  /** How often flushed rules are looked for. */
  readonly checkPeriodMs?: number;
}

export interface RunningNetworkPolicy {
  /** Resolves when the first rules are in the kernel. */
  readonly ready: Promise<void>;
  /** Resolves when the rules are removed, after the signal aborted. */
  readonly done: Promise<void>;
}

const CHECK_PERIOD_MS_DEFAULT = 10_000;

export function runNetworkPolicy(
  options: NetworkPolicyOptions,
  signal: AbortSignal,
): RunningNetworkPolicy {
  return readyAndDone((onReady) => run(options, onReady, signal));
}

async function run(
  options: NetworkPolicyOptions,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, logger, nodeName } = options;
  const writer = new PolicyWriter();
  if (!(await hasNftables())) {
    logger.warn("network policies are not enforced: nftables cannot be used on this machine");
    onReady();
    return untilAborted(signal);
  }
  await enableBridgeNetfilter(logger);
  const informers = new SharedInformers({ client, clock, random, logger });
  const policies = informers.hold(networkPolicyResource, {}, signal);
  const pods = informers.hold(podResource, {}, signal);
  const namespaces = informers.hold(namespaceResource, {}, signal);
  const changed = new WakeUp();
  policies.informer.on(() => changed.wake());
  namespaces.informer.on(({ next, old }) => {
    if (!isSame(next?.metadata.labels, old?.metadata.labels)) changed.wake();
  });
  pods.informer.on(({ next, old }) => {
    if (!isSame(factsOf(next), factsOf(old))) changed.wake();
  });
  const holds = [policies, pods, namespaces];
  await Promise.race([
    Promise.all(holds.map(({ informer }) => informer.synced)),
    untilAborted(signal),
  ]);
  const write = async (): Promise<void> => {
    changed.reset();
    const rules = decidePolicyRules({
      policies: policies.informer.cache.list(),
      pods: pods.informer.cache.list(),
      namespaces: new Map(
        [...namespaces.informer.cache.list()].map(({ metadata }) => [
          metadata.name ?? "",
          metadata.labels ?? {},
        ]),
      ),
      nodeName,
    });
    await writer.write(rules);
    onReady();
  };
  const checkPeriodMs = options.checkPeriodMs ?? CHECK_PERIOD_MS_DEFAULT;
  try {
    await keepWritten({ clock, random, logger, changed, writer, write, checkPeriodMs }, signal);
  } finally {
    await writer
      .remove()
      .catch((error: unknown) =>
        logger.warn("network policy rules could not be removed", { error }),
      );
    await Promise.all(holds.map(({ released }) => released));
  }
}

async function hasNftables(): Promise<boolean> {
  const result = await runProgram("nft", ["list", "tables"]).catch(() => undefined);
  return result?.exitCode === 0;
}

interface Loop {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly changed: WakeUp;
  readonly writer: PolicyWriter;
  readonly checkPeriodMs: number;
  write(): Promise<void>;
}

async function keepWritten(loop: Loop, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, changed, writer, write, checkPeriodMs } = loop;
  const backoff = new Backoff({ baseMs: 1_000, capMs: 30_000, random });
  const sleep = (ms: number): Promise<unknown> => clock.sleep(ms, signal).catch(() => undefined);
  while (!signal.aborted) {
    const startMs = clock.elapsedMs();
    try {
      await write();
      backoff.reset();
      // Rests as long as it worked, so that constant change takes at most half of a core.
      await sleep(clock.elapsedMs() - startMs);
      while (!signal.aborted && !(await isWokenWithin(loop, checkPeriodMs, signal))) {
        if (signal.aborted || (await writer.isIntact())) continue;
        logger.warn("network policy rules are gone and written again");
        writer.forget();
        break;
      }
    } catch (error) {
      logger.error("network policy rules could not be written", { error });
      changed.wake();
      await sleep(backoff.nextMs());
    }
  }
}

/** False if nothing has changed within the time. */
async function isWokenWithin(
  { clock, changed }: Loop,
  timeMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  signal.addEventListener("abort", stop, { once: true });
  const timeout = clock.sleep(timeMs, over.signal).then(
    () => false,
    () => false,
  );
  const isWoken = await Promise.race([changed.woken.then(() => true), timeout]);
  signal.removeEventListener("abort", stop);
  over.abort();
  return isWoken;
}

/** What policies look at. Most updates of a pod change nothing of it. */
function factsOf(pod: Pod | undefined): unknown {
  return pod === undefined ? undefined : policyPodOf(pod);
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
