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
import { ConfigError } from "./config-error.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";
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

/** What else the file says, beside how to schedule. */
export interface ConfigFile {
  readonly scheduler: SchedulerConfig;
  readonly kubeconfig: string | undefined;
  readonly leaderElection: Readonly<Record<string, unknown>>;
}

export function readConfig(document: unknown): ConfigFile {
  const config = objectOf(document);
  const { apiVersion, kind } = config;
  if (apiVersion !== API_VERSION || kind !== KIND) {
    throw new ConfigError(
      `no kind "${String(kind ?? "")}" is registered for version "${String(apiVersion ?? "")}" in scheme "pkg/scheduler/apis/config/scheme/scheme.go:30"`,
    );
  }
  checkFields(config);
  const errors: FieldError[] = [];
  const scheduler: SchedulerConfig = {
    profiles: readProfiles(config.profiles, errors),
    extenders: readExtenders(config.extenders, errors),
    percentageOfNodesToScore: percentage(config, Path.of("percentageOfNodesToScore"), errors) ?? 0,
    podInitialBackoffSeconds: Number(
      config.podInitialBackoffSeconds ?? DEFAULT_CONFIG.podInitialBackoffSeconds,
    ),
    podMaxBackoffSeconds: Number(
      config.podMaxBackoffSeconds ?? DEFAULT_CONFIG.podMaxBackoffSeconds,
    ),
  };
  checkNumbers(scheduler, config, errors);
  if (errors.length > 0) throw new ConfigError(formatFieldErrors(errors));
  for (const profile of scheduler.profiles) checkFitArgs(profile);
  return {
    scheduler,
    kubeconfig: textOf(objectOf(config.clientConnection).kubeconfig),
    leaderElection: objectOf(config.leaderElection),
  };
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

function checkNumbers(
  scheduler: SchedulerConfig,
  { parallelism }: Json,
  errors: FieldError[],
): void {
  const { podInitialBackoffSeconds: initial, podMaxBackoffSeconds: most } = scheduler;
  if (parallelism !== undefined && Number(parallelism) <= 0) {
    const text = "should be an integer value greater than zero";
    errors.push(invalid(Path.of("parallelism"), parallelism, text));
  }
  if (initial <= 0) {
    errors.push(invalid(Path.of("podInitialBackoffSeconds"), initial, "must be greater than 0"));
  }
  if (most < initial) {
    const text = "must be greater than or equal to PodInitialBackoffSeconds";
    errors.push(invalid(Path.of("podMaxBackoffSeconds"), most, text));
  }
}

function readProfiles(value: unknown, errors: FieldError[]): readonly ProfileConfig[] {
  const list = listOf(value);
  if (list.length === 0) return DEFAULT_CONFIG.profiles;
  const names = new Map<string, number>();
  return list.map((one, index) => {
    const path = Path.of("profiles").index(index);
    const profile = objectOf(one);
    const isOnly = list.length === 1;
    const schedulerName = textOf(profile.schedulerName) ?? (isOnly ? DEFAULT_SCHEDULER_NAME : "");
    const nameAt = path.child("schedulerName");
    if (schedulerName === "") errors.push(required(nameAt, ""));
    const first = names.get(schedulerName);
    if (first !== undefined) {
      const other = Path.of("profiles").index(first).child("schedulerName");
      errors.push(duplicate(nameAt, other.toString()));
    } else names.set(schedulerName, index);
    const share = percentage(profile, path.child("percentageOfNodesToScore"), errors);
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
  return { enabled: [...kept, ...custom.values()], disabled };
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
