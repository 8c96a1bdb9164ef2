/** What the OpenAPI documents need to know about a served resource. */
export interface OpenApiResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** The object's kind, also for subresources that speak of another. */
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Its definition: `io.k8s.api.core.v1.Pod`; its list's has the same name with List behind it. */
  readonly definition: string;
  /** Of a custom resource: its definition in either dialect, and the kind of its lists. */
  readonly custom?: {
    readonly v2: Readonly<Record<string, unknown>>;
    readonly v3: Readonly<Record<string, unknown>>;
    readonly listKind: string;
  };
  /** A single delete answers with the object instead of a Status. */
  readonly deleteAnswersObject?: boolean;
  readonly subresources: readonly OpenApiSubresource[];
}

export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** What is sent and answered there; the object itself unless given. */
  readonly speaks?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly definition: string;
  };
  /** The struct (`core.v1.PodExecOptions`) whose fields are the query's parameters, where requests are streams or proxied. */
  readonly options?: string;
}
