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
  const { schedulerName } = config;
  try {
    const plugins = createPlugins(config, factories, handle);
    for (const hook of CHECKED_HOOKS) checkEnabled(hook, config.hooks[hook]?.enabled, plugins);
    checkMultiPoint(config.multiPoint, plugins);
    const enabled = (hook: Hook) => enabledFor(hook, config, plugins);
    checkCounts(schedulerName, enabled);
    return createProfile(schedulerName, enabled, config.percentageOfNodesToScore);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const where = `initializing profiles: creating profile for scheduler name ${schedulerName}`;
    throw new ConfigError(`${where}: ${error.message}`);
  }
}

/** In the order in which upstream looks at them. */
const CHECKED_HOOKS: readonly Hook[] = [
  ...(["preFilter", "filter", "postFilter", "reserve", "preScore", "score"] as const),
  ...(["preBind", "bind", "postBind", "permit", "preEnqueue", "queueSort"] as const),
];

/** Plugins that do not exist are left out. */
function createPlugins(
  { multiPoint, hooks, args }: ProfileConfig,
  factories: ReadonlyMap<string, PluginFactory>,
  handle: Handle,
): ReadonlyMap<string, Plugin> {
  const plugins = new Map<string, Plugin>();
  const sets = [multiPoint, ...HOOKS.flatMap((hook) => hooks[hook] ?? [])];
  for (const { name } of sets.flatMap(({ enabled }) => enabled)) {
    const factory = plugins.has(name) ? undefined : factories.get(name);
    if (factory !== undefined) plugins.set(name, factory.create(args[name], handle));
  }
  return plugins;
}

function checkEnabled(
  hook: Hook,
  enabled: readonly PluginRef[] = [],
  plugins: ReadonlyMap<string, Plugin>,
): void {
  const seen = new Set<string>();
  for (const { name } of enabled) {
    const plugin = plugins.get(name);
    if (plugin === undefined) throw notFound(hook, name);
    if (plugin[hook] === undefined) {
      throw new ConfigError(`plugin "${name}" does not extend ${typeOf(hook)} plugin`);
    }
    if (seen.has(name)) throw registeredTwice(hook, name);
    seen.add(name);
  }
}

function checkMultiPoint({ enabled }: PluginSet, plugins: ReadonlyMap<string, Plugin>): void {
  const seen = new Set<string>();
  for (const { name } of enabled) {
    const plugin = plugins.get(name);
    if (plugin === undefined) throw notFound(CHECKED_HOOKS[0]!, name);
    const first = CHECKED_HOOKS.find((hook) => plugin[hook] !== undefined);
    if (seen.has(name) && first !== undefined) throw registeredTwice(first, name);
    seen.add(name);
  }
}

function checkCounts(
  schedulerName: string,
  enabled: (hook: Hook) => readonly EnabledPlugin[],
): void {
  const profile = `for profile with scheduler name "${schedulerName}"`;
  const sorting = enabled("queueSort").length;
  if (sorting !== 1) {
    throw new ConfigError(`only one queue sort plugin required ${profile}, but got ${sorting}`);
  }
  if (enabled("bind").length === 0) {
    throw new ConfigError(`at least one bind plugin is needed ${profile}`);
  }
}

function notFound(hook: Hook, name: string): ConfigError {
  return new ConfigError(`${typeOf(hook)} "${name}" does not exist`);
}

function registeredTwice(hook: Hook, name: string): ConfigError {
  return new ConfigError(`plugin "${name}" already registered as "${typeOf(hook)}"`);
}

/** The name of upstream's type: ScorePlugin. */
function typeOf(hook: Hook): string {
  return `${hook[0]!.toUpperCase()}${hook.slice(1)}Plugin`;
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
  return [...first, ...fromMultiPoint, ...last].map(({ name, weight = 0 }) => ({
    plugin: plugins.get(name)!,
    weight: weight === 0 ? 1 : weight,
  }));
}
