/**
 * Reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): checks it in upstream's words
 * and merges it with the default plugins.
 */
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { HOOKS, type Hook } from "#scheduler/cycle/profile.ts";
import { checkFields } from "./check-fields.ts";
import { checkPluginArgs, defaultPluginArgs } from "./check-plugin-args.ts";
import {
  checkQueueSort,
  checkRemovedPlugins,
  isRemoved,
  removedPlugin,
} from "./check-plugin-sets.ts";
import { ConfigError } from "./config-error.ts";
import type { ExtenderConfig } from "./extender-config.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";
import {
  checkElectionTimes,
  checkLeaderElection,
  type LeaderElectionFields,
  leaderElectionFrom,
} from "./leader-election-config.ts";
import { readExtenders } from "./read-extenders.ts";
import {
  DEFAULT_CONFIG,
  DEFAULT_PLUGINS,
  DEFAULT_SCHEDULER_NAME,
  type PluginRef,
  type PluginSet,
  type ProfileConfig,
  type SchedulerConfig,
} from "./scheduler-config.ts";

const API_VERSION = "kubescheduler.config.k8s.io/v1";
const KIND = "KubeSchedulerConfiguration";

/** A configuration that leaves everything as it is. */
export const EMPTY_CONFIG = { apiVersion: API_VERSION, kind: KIND };

/** What else the file says, beside how to schedule. */
export interface ConfigFile {
  readonly scheduler: SchedulerConfig;
  readonly kubeconfig: string | undefined;
  readonly leaderElection: LeaderElectionFields;
}

/** `flags` are the flags of leader election that were given; they come before the file. */
export function readConfig(
  document: unknown,
  flags: Partial<LeaderElectionFields> = {},
): ConfigFile {
  const config = objectOf(document);
  const { apiVersion, kind } = config;
  if (apiVersion !== API_VERSION || kind !== KIND) {
    throw new ConfigError(
      `no kind "${String(kind ?? "")}" is registered for version "${String(apiVersion ?? "")}" in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"`,
    );
  }
  checkFields(config);
  const leaderElection = leaderElectionFrom(objectOf(config.leaderElection), flags);
  const clientConnection = objectOf(config.clientConnection);
  const errors: FieldError[] = [
    ...checkClientConnection(clientConnection),
    ...checkLeaderElection(leaderElection),
    ...checkParallelism(config),
  ];
  const profiles = readProfiles(config.profiles, errors);
  errors.push(...checkQueueSort(listOf(config.profiles).map(objectOf)));
  const share = percentage(config, Path.of("percentageOfNodesToScore"), errors) ?? 0;
  const { podInitialBackoffSeconds, podMaxBackoffSeconds } = { ...DEFAULT_CONFIG, ...config };
  const seconds = {
    podInitialBackoffSeconds: Number(podInitialBackoffSeconds),
    podMaxBackoffSeconds: Number(podMaxBackoffSeconds),
  };
  errors.push(...checkBackoff(seconds));
  const extenders = readExtenders(config.extenders, errors);
  const scheduler: SchedulerConfig = {
    profiles: profiles.map((profile) => leftToExtenders(profile, extenders)),
    extenders,
    percentageOfNodesToScore: share,
    ...seconds,
  };
  if (errors.length > 0) throw new ConfigError(formatFieldErrors(errors));
  for (const profile of scheduler.profiles) checkFitArgs(profile);
  checkElectionTimes(leaderElection);
  return {
    scheduler,
    kubeconfig: textOf(clientConnection.kubeconfig),
    leaderElection,
  };
}

/** Resources that extenders manage and the scheduler ignores replace those that arguments name. */
function leftToExtenders(
  profile: ProfileConfig,
  extenders: readonly ExtenderConfig[],
): ProfileConfig {
  const ignoredResources = extenders.flatMap((extender) => extender.ignoredResources);
  if (ignoredResources.length === 0) return profile;
  const name = "NodeResourcesFit";
  const args = objectOf(profile.args[name] ?? defaultPluginArgs(name, {}));
  return { ...profile, args: { ...profile.args, [name]: { ...args, ignoredResources } } };
}

function checkFitArgs({ schedulerName, args }: ProfileConfig): void {
  const name = "NodeResourcesFit";
  if (args[name] === undefined) return;
  const errors = checkPluginArgs(name, args[name], Path.of(""));
  if (errors.length === 0) return;
  const profile = `creating profile for scheduler name ${schedulerName}`;
  throw new ConfigError(
    `initializing profiles: ${profile}: initializing plugin "${name}": ${formatFieldErrors(errors)}`,
  );
}

function checkClientConnection({ burst }: Json): readonly FieldError[] {
  if (!(Number(burst ?? 0) < 0)) return [];
  return [invalid(Path.of("clientConnection").child("burst"), burst, "must be non-negative")];
}

function checkParallelism({ parallelism }: Json): readonly FieldError[] {
  if (parallelism === undefined || Number(parallelism) > 0) return [];
  const text = "should be an integer value greater than zero";
  return [invalid(Path.of("parallelism"), parallelism, text)];
}

function checkBackoff({
  podInitialBackoffSeconds: initial,
  podMaxBackoffSeconds: most,
}: Pick<
  SchedulerConfig,
  "podInitialBackoffSeconds" | "podMaxBackoffSeconds"
>): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (initial <= 0) {
    errors.push(invalid(Path.of("podInitialBackoffSeconds"), initial, "must be greater than 0"));
  }
  if (most < initial) {
    const text = "must be greater than or equal to PodInitialBackoffSeconds";
    errors.push(invalid(Path.of("podMaxBackoffSeconds"), most, text));
  }
  return errors;
}

function readProfiles(value: unknown, errors: FieldError[]): readonly ProfileConfig[] {
  const list = listOf(value);
  if (list.length === 0) return DEFAULT_CONFIG.profiles;
  const names = new Set<string>();
  return list.map((one, index) => {
    const path = Path.of("profiles").index(index);
    const profile = objectOf(one);
    const isOnly = list.length === 1;
    const given = profile.schedulerName ?? (isOnly ? DEFAULT_SCHEDULER_NAME : "");
    const schedulerName = String(given);
    const nameAt = path.child("schedulerName");
    if (schedulerName === "") errors.push(required(nameAt, ""));
    // Upstream prints the other's path as an object without public fields.
    if (names.has(schedulerName)) errors.push(duplicate(nameAt, {}));
    names.add(schedulerName);
    const share = percentage(profile, path.child("percentageOfNodesToScore"), errors);
    errors.push(...checkRemovedPlugins(objectOf(profile.plugins), path.child("plugins")));
    return {
      schedulerName,
      ...readPlugins(objectOf(profile.plugins)),
      args: readArgs(profile.pluginConfig, path.child("pluginConfig"), errors),
      ...(share === undefined ? {} : { percentageOfNodesToScore: share }),
    };
  });
}

function readPlugins(plugins: Json): Pick<ProfileConfig, "multiPoint" | "hooks"> {
  const hooks: Partial<Record<Hook, PluginSet>> = {};
  for (const hook of HOOKS) if (plugins[hook] !== undefined) hooks[hook] = setOf(plugins[hook]);
  return { multiPoint: merged(setOf(plugins.multiPoint)), hooks };
}

/** The default plugins with those replaced, added and disabled that the profile says. */
function merged({ enabled, disabled }: PluginSet): PluginSet {
  const custom = new Map(enabled.map((ref) => [ref.name, ref]));
  const kept = disabled.includes("*")
    ? []
    : DEFAULT_PLUGINS.filter(({ name }) => !disabled.includes(name)).map((ref) => {
        const replaced = custom.get(ref.name);
        custom.delete(ref.name);
        return replaced ?? ref;
      });
  // What is named twice stays so: it is refused when the profile is made.
  const again = enabled.filter(
    ({ name }, index) => enabled.findIndex((one) => one.name === name) !== index,
  );
  return { enabled: [...kept, ...custom.values(), ...again], disabled };
}

function setOf(value: unknown): PluginSet {
  const { enabled, disabled } = objectOf(value);
  const refs = listOf(enabled).map((one): PluginRef => {
    const { name, weight } = objectOf(one);
    return {
      name: textOf(name) ?? "",
      ...(weight === undefined ? {} : { weight: Number(weight) }),
    };
  });
  return {
    enabled: refs,
    disabled: listOf(disabled).map((one) => textOf(objectOf(one).name) ?? ""),
  };
}

function readArgs(
  value: unknown,
  path: Path,
  errors: FieldError[],
): Readonly<Record<string, unknown>> {
  const args: Record<string, unknown> = {};
  for (const [index, one] of listOf(value).entries()) {
    const { name, args: given } = objectOf(one);
    const plugin = textOf(name) ?? "";
    if (Object.hasOwn(args, plugin)) errors.push(duplicate(path.index(index), plugin));
    if (isRemoved(plugin)) {
      errors.push(removedPlugin(path.index(index), plugin));
      continue;
    }
    const complete = defaultPluginArgs(plugin, given);
    args[plugin] = complete;
    // Upstream checks the arguments of NodeResourcesFit when it makes the plugin.
    if (plugin === "NodeResourcesFit") continue;
    errors.push(...checkPluginArgs(plugin, complete, path.index(index).child("args")));
  }
  return args;
}

function percentage(config: Json, path: Path, errors: FieldError[]): number | undefined {
  const value = config.percentageOfNodesToScore;
  if (value === undefined || value === null) return undefined;
  const share = Number(value);
  if (!(share >= 0 && share <= 100))
    errors.push(invalid(path, value, "not in valid range [0-100]"));
  return share;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
