/** The parts of an object that every view reads. Everything may be missing: objects are input. */
import type { LiveObject } from "../../src/dashboard/live/messages.ts";

export interface KubeObject extends LiveObject {
  readonly metadata: LiveObject["metadata"] & {
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
    readonly managedFields?: readonly ManagedFields[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly Condition[];
  };
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: object;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface EventObject extends LiveObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
  readonly firstTimestamp?: string;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly metadata: KubeObject["metadata"];
  readonly involvedObject?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
}

export interface PodObject extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
    readonly ephemeralContainers?: readonly ContainerSpec[];
    readonly volumes?: readonly { readonly emptyDir?: object }[];
  };
  readonly status?: KubeObject["status"] & {
    readonly phase?: string;
    readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly reason?: string };
  };
}

export interface ContainerSpec {
  readonly name: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
}
