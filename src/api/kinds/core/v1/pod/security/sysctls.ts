/** Kernel parameters of a pod. */
import type { PodSpec, Sysctl } from "#api/generated/core.v1.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import type { PodRules } from "../rules.ts";

const NAME_MAX = 253;
const SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const NAME = new RegExp(`^(${SEGMENT}[\\./])*${SEGMENT}$`);
const NAME_FAULT = `must have at most ${NAME_MAX} characters and match regex ^(${SEGMENT}[\\./])*${SEGMENT}$`;

/** Parameters that each IPC namespace has for itself; all of `net` belongs to the network's. */
const IPC_PARAMETERS: ReadonlySet<string> = new Set([
  "kernel.sem",
  "kernel.shmall",
  "kernel.shmmax",
  "kernel.shmmni",
  "kernel.shm_rmid_forced",
  "kernel.shm",
  "kernel.msgmax",
  "kernel.msgmnb",
  "kernel.msgmni",
  "kernel.msg",
]);

export function validateSysctls(
  sysctls: readonly Sysctl[],
  spec: PodSpec,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [i, { name }] of sysctls.entries()) {
    const at = path.index(i).child("name");
    if (name === "") errors.push(required(at, ""));
    else if (!NAME.test(name) || utf8Length(name) > NAME_MAX) {
      errors.push(invalid(at, name, NAME_FAULT));
    } else if (seen.has(name)) errors.push(duplicate(at, name));
    const fault = rules.allowHostSysctls ? undefined : hostSysctlFault(name, spec);
    if (fault !== undefined) errors.push(invalid(at, name, fault));
    seen.add(name);
  }
}

/** A parameter of a namespace that the pod shares with its host would change the host. */
export function hostSysctlFault(
  name: string,
  { hostNetwork, hostIPC }: PodSpec,
): string | undefined {
  const namespace = namespaceOf(dotted(name).split("*", 1)[0]!);
  if (hostNetwork && namespace === "net") return "may not be specified when 'hostNetwork' is true";
  if (hostIPC && namespace === "ipc") return "may not be specified when 'hostIPC' is true";
  return undefined;
}

function namespaceOf(name: string): "net" | "ipc" | undefined {
  if (IPC_PARAMETERS.has(name) || name.startsWith("fs.mqueue.")) return "ipc";
  return name.startsWith("net.") ? "net" : undefined;
}

/** `net/ipv4/conf/eno2.100/x` → `net.ipv4.conf.eno2/100.x`: both ways of writing are known. */
function dotted(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  if (separator !== "/") return name;
  return name.replace(/[./]/g, (char) => (char === "." ? "/" : "."));
}
