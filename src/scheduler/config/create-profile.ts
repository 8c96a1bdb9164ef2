/** Makes a profile from its configuration: which plugins run for which hook, and in which order. */
import {
  createProfile,
  type EnabledPlugin,
  HOOKS,
  type Hook,
  type Profile,
} from "#scheduler/cycle/profile.ts";
import type { Handle, Plugin, PluginFactory } from "#scheduler/plugin.ts";
import { ConfigError } from "./config-error.ts";
import type { PluginRef, PluginSet, ProfileConfig } from "./scheduler-config.ts";

export function profileFrom(
  config: ProfileConfig,
  factories: ReadonlyMap<string, PluginFactory>,
  handle: Handle,
): Profile {
  const plugins = createPlugins(config, factories, handle);
  return createProfile(
    config.schedulerName,
    (hook) => enabledFor(hook, config, plugins),
    config.percentageOfNodesToScore,
  );
}

function createPlugins(
  { multiPoint, hooks, args }: ProfileConfig,
  factories: ReadonlyMap<string, PluginFactory>,
  handle: Handle,
): ReadonlyMap<string, Plugin> {
  const plugins = new Map<string, Plugin>();
  const sets = [multiPoint, ...HOOKS.flatMap((hook) => hooks[hook] ?? [])];
  for (const { name } of sets.flatMap(({ enabled }) => enabled)) {
    if (plugins.has(name)) continue;
    const factory = factories.get(name);
    if (factory === undefined) {
      throw new ConfigError(`plugin "${name}" does not exist`);
    }
    plugins.set(name, factory.create(args[name], handle));
  }
  return plugins;
}

/**
 * Plugins that are named for the hook come in their order; those that also are multi-point plugins
 * first, then the multi-point plugins, then the rest.
 */
function enabledFor(
  hook: Hook,
  { multiPoint, hooks }: ProfileConfig,
  plugins: ReadonlyMap<string, Plugin>,
): readonly EnabledPlugin[] {
  const specific: PluginSet = hooks[hook] ?? { enabled: [], disabled: [] };
  const named = new Set(specific.enabled.map(({ name }) => name));
  const isDisabled = (name: string): boolean =>
    specific.disabled.includes("*") || specific.disabled.includes(name);
  const everywhere = new Set(multiPoint.enabled.map(({ name }) => name));
  const hasHook = (name: string): boolean => plugins.get(name)?.[hook] !== undefined;
  const fromMultiPoint = multiPoint.enabled.filter(
    ({ name }) => hasHook(name) && !isDisabled(name) && !named.has(name),
  );
  const first = specific.enabled.filter(({ name }) => everywhere.has(name));
  const last = specific.enabled.filter(({ name }) => !everywhere.has(name));
  return [...first, ...fromMultiPoint, ...last].map((ref) => enabledPlugin(ref, hook, plugins));
}

function enabledPlugin(
  { name, weight = 0 }: PluginRef,
  hook: Hook,
  plugins: ReadonlyMap<string, Plugin>,
): EnabledPlugin {
  const plugin = plugins.get(name)!;
  if (plugin[hook] === undefined) {
    throw new ConfigError(`plugin "${name}" does not extend ${hook} plugin`);
  }
  return { plugin, weight: weight === 0 ? 1 : weight };
}
