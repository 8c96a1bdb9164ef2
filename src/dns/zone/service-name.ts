/**
 * The parts of a name below the cluster domain, as the Kubernetes DNS specification 1.1 has them:
 *
 *     service.namespace.svc                  endpoint.service.namespace.svc
 *     _port._protocol.service.namespace.svc  a-b-c-d.namespace.pod
 */
export interface ServiceName {
  readonly branch: "svc" | "pod";
  /** Empty in the name of the branch itself. */
  readonly namespace: string;
  /** Empty in the name of a namespace. The address of a pod in the branch `pod`. */
  readonly service: string;
  readonly endpoint: string;
  readonly port: string;
  readonly protocol: string;
}

/** Undefined for names of another form. `labels` are those below the cluster domain. */
export function parseServiceName(labels: readonly string[]): ServiceName | undefined {
  const branch = labels.at(-1);
  if (branch !== "svc" && branch !== "pod") return undefined;
  const namespace = labels.at(-2) ?? "";
  const service = labels.at(-3) ?? "";
  const name = { branch, namespace, service, endpoint: "", port: "", protocol: "" } as const;
  switch (labels.length) {
    case 1:
    case 2:
    case 3:
      return name;
    case 4:
      return { ...name, endpoint: labels[0]! };
    case 5:
      return {
        ...name,
        port: withoutUnderscore(labels[0]!),
        protocol: withoutUnderscore(labels[1]!),
      };
    default:
      return undefined;
  }
}

function withoutUnderscore(label: string): string {
  return label.startsWith("_") ? label.slice(1) : label;
}
