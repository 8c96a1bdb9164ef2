/** Checks which plugins the profiles enable, with upstream's texts. */
import { isDeepStrictEqual } from "node:util";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { HOOKS } from "#scheduler/cycle/profile.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";

const VERSION = "kubescheduler.config.k8s.io/v1";
const REMOVED = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

export function isRemoved(plugin: string): boolean {
  return REMOVED.includes(plugin);
}

export function removedPlugin(path: Path, plugin: string): FieldError {
  const text = `was invalid in version "v1" (KubeSchedulerConfiguration is version "${VERSION}")`;
  return invalid(path, plugin, text);
}

export function checkRemovedPlugins(plugins: Json, path: Path): readonly FieldError[] {
  return HOOKS.flatMap((hook) =>
    listOf(objectOf(plugins[hook]).enabled).flatMap((one, index) => {
      const name = String(objectOf(one).name ?? "");
      return isRemoved(name)
        ? [removedPlugin(path.child(hook).child("enabled").index(index), name)]
        : [];
    }),
  );
}

/** All profiles share one queue, so they must sort it alike. */
export function checkQueueSort(profiles: readonly Json[]): readonly FieldError[] {
  const [first, ...others] = profiles;
  if (first === undefined) return [];
  const path = Path.of("profiles");
  const errors: FieldError[] = [];
  const canon = queueSortOf(first);
  const count = canon.Enabled?.length ?? 0;
  if (count > 1) {
    const at = path.index(0).child("plugins").child("queueSort").child("Enabled");
    errors.push(invalid(at, count, "only one queue sort plugin can be enabled"));
  }
  const name = canon.Enabled?.[0]?.Name;
  const args = argsOf(first, name);
  for (const [index, profile] of others.entries()) {
    const at = path.index(index + 1);
    const own = queueSortOf(profile);
    if (!isDeepStrictEqual(own, canon)) {
      const where = at.child("plugins").child("queueSort");
      errors.push(invalid(where, own, "must be the same for all profiles"));
    }
    const ownArgs = argsOf(profile, name);
    if (ownArgs !== undefined && !isDeepStrictEqual(ownArgs, args)) {
      const where = at.child("pluginConfig").child("args");
      errors.push(invalid(where, ownArgs, "queueSort must be the same for all profiles"));
    }
  }
  return errors;
}

/** As upstream prints it. */
interface PluginSetValue {
  readonly Enabled: readonly { readonly Name: string; readonly Weight: number }[] | null;
  readonly Disabled: readonly { readonly Name: string; readonly Weight: number }[] | null;
}

function queueSortOf({ plugins }: Json): PluginSetValue {
  const { enabled, disabled } = objectOf(objectOf(plugins).queueSort);
  const refs = (value: unknown) => {
    const list = listOf(value).map(objectOf);
    if (list.length === 0) return null;
    return list.map(({ name, weight }) => ({
      Name: String(name ?? ""),
      Weight: Number(weight ?? 0),
    }));
  };
  return { Enabled: refs(enabled), Disabled: refs(disabled) };
}

function argsOf({ pluginConfig }: Json, plugin: string | undefined): unknown {
  if (plugin === undefined) return undefined;
  return listOf(pluginConfig)
    .map(objectOf)
    .find(({ name }) => name === plugin)?.args;
}
