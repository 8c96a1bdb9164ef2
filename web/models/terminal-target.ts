/** What a terminal connects to: a shell (exec), the container's own process (attach), or a new ephemeral
 * container beside it (debug). Pure. */
import type { PodObject } from "./kube-object.ts";

export type TerminalMode = "exec" | "attach" | "debug";

export interface PodName {
  readonly namespace: string;
  readonly pod: string;
}

/** bash where there is one. */
const SHELL = ["sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash || exec sh"];

export function terminalModeOf(text: string | null): TerminalMode {
  return text === "attach" || text === "debug" ? text : "exec";
}

/** Its own page: the styles of the terminal need another Content-Security-Policy. */
export function terminalLink(name: PodName, container: string, mode: TerminalMode): string {
  const path = [name.namespace, name.pod].map(encodeURIComponent).join("/");
  const query = new URLSearchParams({ container, ...(mode === "exec" ? {} : { mode }) });
  return `/terminal/${path}?${query}`;
}

export function podPath({ namespace, pod }: PodName): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
}

export function execPath(name: PodName, container: string): string {
  const query = new URLSearchParams({ stdin: "true", stdout: "true", tty: "true" });
  if (container !== "") query.set("container", container);
  for (const word of SHELL) query.append("command", word);
  return `${podPath(name)}/exec?${query}`;
}

/** Attaches as the container was made: with a terminal or not, with an open standard input or not. */
export function attachPath(name: PodName, pod: PodObject, container: string): string {
  const { spec } = pod;
  const all = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const found = all.find((each) => each.name === container);
  const query = new URLSearchParams({ container, stdout: "true" });
  if (found?.stdin === true) query.set("stdin", "true");
  if (found?.tty === true) query.set("tty", "true");
  else query.set("stderr", "true");
  return `${podPath(name)}/attach?${query}`;
}

/** A strategic merge patch of `pods/ephemeralcontainers`. */
export function debugPatch(name: string, image: string, target: string): object {
  const container = {
    ...{ name, image, imagePullPolicy: "IfNotPresent", stdin: true, tty: true },
    terminationMessagePolicy: "File",
    ...(target === "" ? {} : { targetContainerName: target }),
  };
  return { spec: { ephemeralContainers: [container] } };
}

/** `debugger-N`, the first that the pod does not have. */
export function debugName(pod: PodObject): string {
  const taken = new Set((pod.spec?.ephemeralContainers ?? []).map(({ name }) => name));
  for (let number = 1; ; number++)
    if (!taken.has(`debugger-${number}`)) return `debugger-${number}`;
}

export type EphemeralState = "running" | "waiting" | "ended";

/** With the kubelet's reason while it waits, or after its end. */
export function ephemeralState(
  pod: PodObject,
  name: string,
): { readonly state: EphemeralState; readonly reason: string } {
  const status = pod.status?.ephemeralContainerStatuses?.find((each) => each.name === name);
  const { running, terminated, waiting } = status?.state ?? {};
  if (running !== undefined) return { state: "running", reason: "" };
  if (terminated !== undefined) return { state: "ended", reason: terminated.reason ?? "" };
  const reason = [waiting?.reason, waiting?.message].filter(Boolean).join(": ");
  return { state: "waiting", reason };
}
