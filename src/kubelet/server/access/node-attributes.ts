/** What a request to the kubelet asks for, as authorization sees it: sub-resources of its Node. Pure. */

export interface NodeAttributes {
  readonly verb: string;
  /** Any of them suffices. */
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  ...{ POST: "create", GET: "get", PUT: "update", PATCH: "patch", DELETE: "delete" },
};

/** Sub-resources that are asked for before the general `proxy`. */
const FINE_GRAINED: readonly (readonly [path: string, subresource: string])[] = [
  ["/pods", "pods"],
  ["/healthz", "healthz"],
  ["/configz", "configz"],
  ["/runningpods", "pods"],
];

const OWN: readonly (readonly [path: string, subresource: string])[] = [
  ["/stats", "stats"],
  ["/metrics", "metrics"],
  ["/logs", "log"],
  ["/checkpoint", "checkpoint"],
  ["/statusz", "statusz"],
  ["/flagz", "configz"],
];

export function nodeAttributes(method: string, path: string): NodeAttributes {
  const verb = VERBS[method] ?? "";
  const matching = (table: typeof OWN): string[] =>
    table.filter(([root]) => path === root || path.startsWith(`${root}/`)).map(([, name]) => name);
  const own = matching(OWN);
  return { verb, subresources: [...matching(FINE_GRAINED), ...(own.length > 0 ? own : ["proxy"])] };
}
