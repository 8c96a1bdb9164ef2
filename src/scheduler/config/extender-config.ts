/** A scheduler extender: a webhook that filters, scores, binds or reviews preemptions. */
export interface ExtenderConfig {
  readonly urlPrefix: string;
  /** A verb that is empty is not asked for. */
  readonly filterVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly preemptVerb: string;
  readonly weight: number;
  readonly tls: {
    readonly insecure: boolean;
    readonly serverName: string;
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
    /** Read when the scheduler starts; data that is given comes first. */
    readonly caFile: string;
    readonly certFile: string;
    readonly keyFile: string;
  };
  readonly httpTimeoutMs: number;
  /** The extender keeps node objects itself and wants names only. */
  readonly nodeCacheCapable: boolean;
  /** Asked only for pods that request one of these; for all pods if empty. */
  readonly managedResources: readonly string[];
  /** Those of them that NodeResourcesFit leaves to the extender. */
  readonly ignoredResources: readonly string[];
  /** Scheduling goes on without it when it fails. */
  readonly ignorable: boolean;
}
