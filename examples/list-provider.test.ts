import { providerChecks } from "k8ts/cloud";
import { test } from "vitest";
import { createProvider } from "./list-provider.ts";

const config = "192.0.2.1\n192.0.2.2\n192.0.2.3\n";

for (const { name, run } of providerChecks({ create: () => createProvider({ config } as never) })) {
  test(`list provider (cloud provider contract): ${name}`, run);
}
