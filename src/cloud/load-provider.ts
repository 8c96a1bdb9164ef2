/**
 * Finds the provider that `--cloud-provider` names: one of the table, or a module of another package (a
 * path, or the name of a package that can be found from the working directory). A module exports a
 * function `createProvider` (or as default) that answers a CloudProvider.
 */
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "#lib/caught.ts";
import type { CloudProvider, CreateProvider } from "./provider.ts";
import { cloudProviders } from "./providers/providers.ts";

export async function loadProvider(name: string, cwd: string): Promise<CreateProvider> {
  if (Object.hasOwn(cloudProviders, name)) return cloudProviders[name]!;
  const module = await importFrom(name, cwd);
  const create = module.createProvider ?? module.default;
  if (typeof create === "function") return async (context) => checked(await create(context), name);
  throw new Error(`cloud provider "${name}" exports no function createProvider`);
}

async function importFrom(name: string, cwd: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(fileOf(name, cwd)).href);
  } catch (error) {
    const known = Object.keys(cloudProviders).join(", ");
    throw new Error(
      `cloud provider "${name}" could not be loaded (${messageOf(error)}); known are ${known}, a path (./provider.js) or an installed package`,
    );
  }
}

function fileOf(name: string, cwd: string): string {
  if (/^\.{0,2}\//.test(name)) return resolve(cwd, name);
  return createRequire(join(cwd, "package.json")).resolve(name);
}

/** What other people's code answers is looked at before it is used. */
function checked(provider: unknown, name: string): CloudProvider {
  if (typeof provider !== "object" || provider === null || !("name" in provider)) {
    throw new Error(`cloud provider "${name}": createProvider answered no provider`);
  }
  const parts: Readonly<Record<string, readonly string[]>> = {
    loadBalancers: ["get", "ensure", "update", "remove"],
    instances: ["exists", "isShutdown", "metadata"],
    zones: ["zoneOf"],
    routes: ["list", "create", "remove"],
  };
  for (const [part, methods] of Object.entries(parts)) {
    const value: unknown = Reflect.get(provider, part);
    if (value === undefined) continue;
    const missing = methods.find(
      (method) => typeof Reflect.get(Object(value), method) !== "function",
    );
    if (missing !== undefined) {
      throw new Error(`cloud provider "${name}": ${part} has no method ${missing}`);
    }
  }
  return provider as CloudProvider;
}
