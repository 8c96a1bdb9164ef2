/** Which flags of `k8ts up` a new control-plane machine takes over, and which belong to one machine. */
import type { Option } from "commander";
import type { Settings } from "../up/config/settings.ts";

/** Of the machine, or of one start. */
const OF_MACHINE: ReadonlySet<string> = new Set([
  ...["data", "data-dir", "bind-address", "advertise-address", "external-hostname", "kubeconfig"],
  ...["nodes", "simulate", "simulate-config", "install", "new-cluster", "tls-san"],
  // Handed over with the files that they name.
  ...["etcd-cafile", "etcd-certfile", "etcd-keyfile"],
]);

export interface SharedSettings {
  readonly shared: Settings;
  /** Flags that name files of this machine: the other one has to be given them by hand. */
  readonly files: readonly string[];
}

export function sharedSettings(settings: Settings, options: readonly Option[]): SharedSettings {
  const namesFile = (name: string): boolean =>
    options.some(({ long, flags }) => long === `--${name}` && /<(file|dir|path)>/.test(flags));
  const kept = Object.entries(settings).filter(([name]) => !OF_MACHINE.has(name));
  return {
    shared: Object.fromEntries(kept.filter(([name]) => !namesFile(name))),
    files: kept.map(([name]) => name).filter(namesFile),
  };
}
