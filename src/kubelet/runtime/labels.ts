/** The labels and annotations by which the kubelet finds its pods and containers in the runtime. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { containerHash } from "#kubelet/decide/container-hash.ts";

export const POD_NAME = "io.kubernetes.pod.name";
export const POD_NAMESPACE = "io.kubernetes.pod.namespace";
export const POD_UID = "io.kubernetes.pod.uid";
export const CONTAINER_NAME = "io.kubernetes.container.name";
export const CONTAINER_HASH = "io.kubernetes.container.hash";
export const RESTART_COUNT = "io.kubernetes.container.restartCount";
export const TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath";
export const TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy";
const TERMINATION_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod";
const PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler";
const PORTS = "io.kubernetes.container.ports";

type Strings = Readonly<Record<string, string>>;

/** Where a pod's definition came from (api, file, http) is not for the runtime. */
const CONFIG_ANNOTATIONS = new Set(["kubernetes.io/config.source"]);

export function podLabels({ metadata }: Pod): Strings {
  return { ...metadata.labels, ...podIdentity(metadata) };
}

export function podAnnotations({ metadata }: Pod): Strings {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => !CONFIG_ANNOTATIONS.has(name)));
}

export function containerLabels({ metadata }: Pod, { name }: Container): Strings {
  return { ...podIdentity(metadata), [CONTAINER_NAME]: name };
}

export function containerAnnotations(pod: Pod, container: Container, restarts: number): Strings {
  const { terminationMessagePath = "/dev/termination-log", terminationMessagePolicy = "File" } =
    container;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  return {
    [CONTAINER_HASH]: containerHash(container),
    [RESTART_COUNT]: String(restarts),
    [TERMINATION_MESSAGE_PATH]: terminationMessagePath,
    [TERMINATION_MESSAGE_POLICY]: terminationMessagePolicy,
    ...(terminationGracePeriodSeconds === undefined
      ? {}
      : { [TERMINATION_GRACE_PERIOD]: String(terminationGracePeriodSeconds) }),
    ...(preStop === undefined ? {} : { [PRE_STOP_HANDLER]: JSON.stringify(preStop) }),
    ...((container.ports ?? []).length > 0 ? { [PORTS]: JSON.stringify(container.ports) } : {}),
  };
}

function podIdentity({ name = "", namespace = "", uid = "" }: Pod["metadata"]): Strings {
  return { [POD_NAME]: name, [POD_NAMESPACE]: namespace, [POD_UID]: uid };
}
