/** Which volumes pods want and which are in place, for the metric `volume_manager_total_volumes`. */
import type { PersistentVolume, Volume } from "#api/generated/core.v1.ts";
import type { Metrics } from "#lib/metrics.ts";

type State = "actual_state_of_world" | "desired_state_of_world";

/** No plug-in takes the volume. */
export const NO_PLUGIN = "N/A";

export class VolumeCounts {
  /** By pod and volume: the name of the plug-in. */
  readonly #volumes: Readonly<Record<State, Map<string, Map<string, string>>>> = {
    actual_state_of_world: new Map(),
    desired_state_of_world: new Map(),
  };

  want(podUid: string, volume: string, plugin: string): void {
    this.#add("desired_state_of_world", podUid, volume, plugin);
  }

  mounted(podUid: string, volume: string, plugin: string): void {
    this.#add("actual_state_of_world", podUid, volume, plugin);
  }

  /** The pod's volumes are about to be taken away. */
  unwanted(podUid: string): void {
    this.#volumes.desired_state_of_world.delete(podUid);
  }

  gone(podUid: string): void {
    this.#volumes.actual_state_of_world.delete(podUid);
  }

  show(metrics: Metrics): void {
    metrics.gaugesOf(
      {
        name: "volume_manager_total_volumes",
        help: "Volumes of pods, by plug-in: those that are wanted and those that are in place.",
        labels: ["plugin_name", "state"],
      },
      () => this.counts(),
    );
  }

  counts(): readonly { readonly labels: readonly string[]; readonly value: number }[] {
    return Object.entries(this.#volumes).flatMap(([state, pods]) => {
      const byPlugin = new Map<string, number>();
      for (const plugin of [...pods.values()].flatMap((volumes) => [...volumes.values()])) {
        byPlugin.set(plugin, (byPlugin.get(plugin) ?? 0) + 1);
      }
      return [...byPlugin].map(([plugin, value]) => ({ labels: [plugin, state], value }));
    });
  }

  #add(state: State, podUid: string, volume: string, plugin: string): void {
    const known = this.#volumes[state].get(podUid) ?? new Map<string, string>();
    known.set(volume, plugin);
    this.#volumes[state].set(podUid, known);
  }
}

/** With the driver behind it, as upstream has it: `kubernetes.io/csi:disk.example.com`. */
export function qualifiedPluginName(
  plugin: string,
  volume: Volume,
  persistentVolume: PersistentVolume | undefined,
): string {
  const driver = persistentVolume?.spec.csi?.driver ?? volume.csi?.driver;
  return plugin === "kubernetes.io/csi" && driver !== undefined ? `${plugin}:${driver}` : plugin;
}
