/** A scheduler extender: a webhook that filters, scores, preempts or binds. */
export interface ExtenderConfig {
  readonly urlPrefix: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly enableHttps: boolean;
  readonly tls: {
    readonly insecure: boolean;
    readonly serverName: string;
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
  };
  readonly httpTimeoutMs: number;
  /** The extender keeps node objects itself and wants names only. */
  readonly nodeCacheCapable: boolean;
  readonly managedResources: readonly {
    readonly name: string;
    readonly ignoredByScheduler: boolean;
  }[];
  /** Scheduling goes on without it when it fails. */
  readonly ignorable: boolean;
}
