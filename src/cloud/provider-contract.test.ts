import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { type ContractOptions, providerChecks } from "./provider-contract.ts";
import { type AddressHolder, createLocalProvider } from "./providers/local/local-provider.ts";
import { SimulatedCloud } from "./providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "./providers/simulated/simulated-provider.ts";

function simulated(): ContractOptions {
  let cloud: SimulatedCloud;
  return {
    create: () => {
      cloud = new SimulatedCloud({ clock: new VirtualClock("2030-01-01T00:00:00Z") });
      return createSimulatedProvider(cloud);
    },
    addMachine: async (_provider, name) => {
      await cloud.createMachine({ name }, new AbortController().signal);
    },
  };
}

function local(): ContractOptions {
  const had = new Set<string>();
  const addresses: AddressHolder = {
    list: async () => [...had],
    place: async (address) => void had.add(address),
    remove: async (address) => void had.delete(address),
  };
  return {
    create: () =>
      createLocalProvider({ ranges: ["10.245.0.0/24"], addresses, services: async () => [] }),
  };
}

for (const [name, options] of Object.entries({ simulated: simulated(), local: local() })) {
  for (const check of providerChecks(options))
    test(`cloud provider contract of ${name}: ${check.name}`, check.run);
}
