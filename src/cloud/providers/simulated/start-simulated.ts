/** The simulated provider as `--cloud-provider simulated` runs it: its machines, schedule and API. */
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { CloudProvider, ProviderContext } from "../../provider.ts";
import { startMachineApi } from "./machine-api.ts";
import { SimulatedCloud } from "./simulated-cloud.ts";
import { parseSimulatedConfig, type ScheduledAction } from "./simulated-config.ts";
import { createSimulatedProvider } from "./simulated-provider.ts";

export async function startSimulated({
  config: text,
  clock,
  logger,
}: ProviderContext): Promise<CloudProvider> {
  const config = parseSimulatedConfig(text);
  const { quota, range } = config;
  const cloud = new SimulatedCloud({ clock, quota, ...(range === undefined ? {} : { range }) });
  const life = new AbortController();
  for (const machine of config.machines) await cloud.createMachine(machine, life.signal);
  cloud.setLatency(config.latencyMs);
  cloud.setFaults(config.faults);
  if (config.listen !== undefined) {
    const port = await startMachineApi(cloud, config.listen, life.signal);
    logger.info("machine API", { url: `http://${config.listen.host}:${port}/machines` });
  }
  for (const action of config.schedule) {
    runScheduled(cloud, action, clock, life.signal).catch((error: unknown) => {
      if (!life.signal.aborted) {
        logger.warn("a scheduled action failed", { ...action, why: messageOf(error) });
      }
    });
  }
  return { ...createSimulatedProvider(cloud), close: async () => life.abort() };
}

async function runScheduled(
  cloud: SimulatedCloud,
  { afterMs, action, machine: name }: ScheduledAction,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(afterMs, signal);
  if (action === "create") {
    await cloud.createMachine({ name }, signal);
    return;
  }
  const machine = cloud.machines().find((one) => one.name === name);
  if (machine === undefined) throw new Error(`no machine "${name}"`);
  if (action === "delete") await cloud.deleteMachine(machine.id, signal);
  else await cloud.setMachineState(machine.id, action === "stop" ? "stopped" : "running", signal);
}
