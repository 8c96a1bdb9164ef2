/**
 * The operations on a resource, as both documents describe them: paths, parameters, request
 * and response bodies. Which path an operation has and what it is called follows from its verb.
 */
import { capital, groupVersionTag, groupVersionWord, rootPath } from "./names.ts";
import {
  ANY_MEDIA,
  CUSTOM_PATCH_MEDIA,
  customMedia,
  DELETE_OPTIONS,
  DELETE_PARAMETERS,
  type GroupVersionKind,
  LIST_PARAMETERS,
  NAMESPACE,
  OBJECT_MEDIA,
  type Operation,
  optionParameters,
  PATCH,
  PATCH_MEDIA,
  type Parameter,
  type PathItem,
  PRETTY,
  query,
  SELECT_PARAMETERS,
  STATUS,
  WATCH_EVENT,
  WATCH_MEDIA,
  WRITE_PARAMETERS,
} from "./operation.ts";
import type { OpenApiResource, OpenApiSubresource } from "./resource.ts";

export function pathItems(resource: OpenApiResource): PathItem[] {
  return new Paths(resource).all();
}

class Paths {
  readonly #resource: OpenApiResource;
  readonly #root: string;
  readonly #word: string;
  readonly #tag: string;
  readonly #self: GroupVersionKind;

  constructor(resource: OpenApiResource) {
    const { group, version, kind } = resource;
    this.#resource = resource;
    this.#root = rootPath(group, version);
    this.#word = groupVersionWord(group, version);
    this.#tag = groupVersionTag(group, version);
    this.#self = { group, kind, version };
  }

  all(): PathItem[] {
    const { plural, namespaced } = this.#resource;
    const scope = namespaced ? "/namespaces/{namespace}" : "";
    const collection = `${this.#root}${scope}/${plural}`;
    const item = `${collection}/{name}`;
    const watch = `${this.#root}/watch${scope}/${plural}`;
    const items = [
      { path: collection, operations: this.#onCollection() },
      { path: item, operations: this.#onItem() },
      { path: watch, operations: this.#watch("List", this.#collectionParameters()) },
      { path: `${watch}/{name}`, operations: this.#watch("", this.#itemParameters()) },
      ...this.#acrossNamespaces(),
      ...this.#resource.subresources.flatMap((sub) => this.#onSubresource(item, sub)),
    ];
    return items.filter(({ operations }) => operations.length > 0);
  }

  #onCollection(): Operation[] {
    const { kind, definition } = this.#resource;
    const parameters = this.#collectionParameters();
    const operations: Operation[] = [];
    if (this.#can("deletecollection")) {
      operations.push({
        ...this.#operation("delete", "Collection", `delete collection of ${kind}`),
        parameters: [...parameters, ...DELETE_PARAMETERS, ...SELECT_PARAMETERS],
        body: { definition: DELETE_OPTIONS, required: false },
        answer: STATUS,
        action: "deletecollection",
      });
    }
    if (this.#can("list")) operations.push(this.#list("", parameters));
    if (this.#can("create")) {
      operations.push({
        ...this.#operation("post", "", `create ${this.#one()}`),
        parameters: [...parameters, ...WRITE_PARAMETERS],
        body: { definition, required: true },
        answers: [200, 201, 202],
      });
    }
    return operations;
  }

  #list(suffix: string, parameters: readonly Parameter[]): Operation {
    const { kind, definition } = this.#resource;
    const verb = this.#can("watch") ? "list or watch" : "list";
    return {
      ...this.#operation("get", "", `${verb} objects of kind ${kind}`),
      id: `list${this.#word}${suffix === "" ? this.#scopeWord() : ""}${kind}${suffix}`,
      parameters: [...parameters, ...LIST_PARAMETERS],
      produces: this.#media(WATCH_MEDIA),
      answer: `${definition}List`,
      action: "list",
    };
  }

  #onItem(): Operation[] {
    const { definition, deleteAnswersObject } = this.#resource;
    const operations: Operation[] = [];
    if (this.#can("delete")) {
      operations.push({
        ...this.#operation("delete", "", `delete ${this.#one()}`),
        parameters: [...this.#itemParameters(), ...DELETE_PARAMETERS],
        body: { definition: DELETE_OPTIONS, required: false },
        answers: [200, 202],
        answer: deleteAnswersObject ? definition : STATUS,
      });
    }
    return [...operations, ...this.#readAndWrite(this.#resource.verbs, "", this.#self, definition)];
  }

  /** get, update and patch: the same on an object and on most of its subresources. */
  #readAndWrite(
    verbs: readonly string[],
    suffix: string,
    kind: GroupVersionKind,
    definition: string,
  ): Operation[] {
    const parameters = this.#itemParameters();
    const of = suffix === "" ? "" : `${suffix} of `;
    const specified = `${of}the specified ${this.#resource.kind}`;
    const base = (method: Operation["method"], verb: string): Operation => ({
      ...this.#operation(method, "", `${verb} ${specified}`),
      id: `${idVerb(method)}${this.#word}${this.#scopeWord()}${this.#resource.kind}${capital(suffix)}`,
      kind,
      answer: definition,
      parameters,
    });
    const written = { parameters: [...parameters, ...WRITE_PARAMETERS], answers: [200, 201] };
    const operations: Operation[] = [];
    if (verbs.includes("get")) operations.push(base("get", "read"));
    if (verbs.includes("update")) {
      const body = { definition, required: true };
      operations.push({ ...base("put", "replace"), ...written, body });
    }
    if (verbs.includes("patch")) {
      operations.push({
        ...base("patch", "partially update"),
        ...written,
        parameters: [...written.parameters, query("force", "boolean")],
        body: { definition: PATCH, required: true },
        consumes: this.#resource.custom ? CUSTOM_PATCH_MEDIA : PATCH_MEDIA,
      });
    }
    return operations;
  }

  #onSubresource(item: string, sub: OpenApiSubresource): PathItem[] {
    const path = `${item}/${sub.name}`;
    const { definition, ...gvk } = sub.speaks ?? {
      ...this.#self,
      definition: this.#resource.definition,
    };
    if (sub.name === "log") return [{ path, operations: [this.#log(sub)] }];
    if (sub.options !== undefined) {
      const kind = sub.options.slice(sub.options.lastIndexOf(".") + 1);
      return this.#connect(path, sub, { ...this.#self, kind });
    }
    const operations = this.#readAndWrite(sub.verbs, sub.name, gvk, definition);
    if (sub.verbs.includes("create")) {
      operations.push({
        ...this.#operation("post", "", `create ${sub.name} of ${this.#one()}`),
        id: `create${this.#word}${this.#scopeWord()}${this.#resource.kind}${capital(sub.name)}`,
        parameters: [...this.#itemParameters(), ...WRITE_PARAMETERS],
        body: { definition, required: true },
        answers: [200, 201, 202],
        answer: definition,
        kind: gvk,
      });
    }
    return [{ path, operations }];
  }

  #log(sub: OpenApiSubresource): Operation {
    const { kind } = this.#resource;
    return {
      ...this.#operation("get", "", `read log of the specified ${kind}`),
      id: `read${this.#word}${this.#scopeWord()}${kind}Log`,
      parameters: [...this.#itemParameters(), ...optionParameters(sub.options!)],
      produces: ["text/plain", ...OBJECT_MEDIA],
      answer: undefined,
    };
  }

  /** Streams and proxies: any method that the verbs allow, with the options as parameters. */
  #connect(path: string, sub: OpenApiSubresource, kind: GroupVersionKind): PathItem[] {
    const isProxy = sub.name === "proxy";
    const verbs: readonly string[] = sub.verbs;
    const methods = CONNECT_METHODS.filter(
      ({ verb }) => verbs.includes(verb) && (isProxy || verb !== "update"),
    );
    const named = this.#itemParameters(kind.kind).filter((parameter) => parameter !== PRETTY);
    const parameters = [...named, ...optionParameters(sub.options!)];
    const item = (suffix: string, more: readonly Parameter[]): PathItem => ({
      path: `${path}${suffix === "" ? "" : "/{path}"}`,
      operations: methods.map(({ method }) => ({
        ...this.#operation(method, "", ""),
        description: `connect ${method.toUpperCase()} requests to ${sub.name} of ${this.#resource.kind}`,
        id: `connect${this.#word}${capital(method)}${this.#scopeWord()}${this.#resource.kind}${capital(sub.name)}${suffix}`,
        parameters: [...parameters, ...more],
        produces: ANY_MEDIA,
        answer: undefined,
        action: "connect",
        kind,
      })),
    });
    const path0: Parameter = { name: "path", in: "path", type: "string" };
    return isProxy ? [item("", []), item("WithPath", [path0])] : [item("", [])];
  }

  /** Lists and watches over all namespaces. */
  #acrossNamespaces(): PathItem[] {
    const { plural, kind, namespaced } = this.#resource;
    if (!namespaced) return [];
    const suffix = "ForAllNamespaces";
    const list = this.#can("list") ? [this.#list(suffix, [PRETTY])] : [];
    const watch = this.#watch("List", [PRETTY]).map((operation) => ({
      ...operation,
      id: `watch${this.#word}${kind}List${suffix}`,
    }));
    return [
      { path: `${this.#root}/${plural}`, operations: list },
      { path: `${this.#root}/watch/${plural}`, operations: watch },
    ];
  }

  #watch(suffix: "List" | "", parameters: readonly Parameter[]): Operation[] {
    if (!this.#can("watch")) return [];
    const { kind } = this.#resource;
    const what =
      suffix === ""
        ? `changes to an object of kind ${kind}`
        : `individual changes to a list of ${kind}`;
    const how =
      suffix === ""
        ? "use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."
        : "use the 'watch' parameter with a list operation instead.";
    return [
      {
        ...this.#operation("get", "", `watch ${what}. deprecated: ${how}`),
        id: `watch${this.#word}${this.#scopeWord()}${kind}${suffix}`,
        parameters: [...parameters, ...LIST_PARAMETERS],
        produces: this.#media(WATCH_MEDIA),
        answer: WATCH_EVENT,
        action: suffix === "" ? "watch" : "watchlist",
      },
    ];
  }

  #operation(method: Operation["method"], infix: string, description: string): Operation {
    const { kind, definition } = this.#resource;
    return {
      method,
      id: `${idVerb(method)}${this.#word}${infix}${this.#scopeWord()}${kind}`,
      description,
      tag: this.#tag,
      parameters: [],
      consumes: ANY_MEDIA,
      produces: this.#media(OBJECT_MEDIA),
      answers: [200],
      answer: definition,
      action: method,
      kind: this.#self,
    };
  }

  /** `a Pod`, `an Ingress`, `Endpoints` */
  #one(): string {
    const { kind, plural } = this.#resource;
    if (kind.toLowerCase() === plural) return kind;
    return /^[AEIOU]/.test(kind) ? `an ${kind}` : `a ${kind}`;
  }

  #media(types: readonly string[]): readonly string[] {
    return this.#resource.custom ? customMedia(types) : types;
  }

  #can(verb: string): boolean {
    return this.#resource.verbs.includes(verb);
  }

  #scopeWord(): string {
    return this.#resource.namespaced ? "Namespaced" : "";
  }

  #collectionParameters(): Parameter[] {
    return this.#resource.namespaced ? [NAMESPACE, PRETTY] : [PRETTY];
  }

  #itemParameters(kind = this.#resource.kind): Parameter[] {
    const name: Parameter = {
      name: "name",
      in: "path",
      type: "string",
      description: `name of the ${kind}`,
    };
    return [name, ...this.#collectionParameters()];
  }
}

const CONNECT_METHODS = [
  { verb: "delete", method: "delete" },
  { verb: "get", method: "get" },
  { verb: "update", method: "head" },
  { verb: "update", method: "options" },
  { verb: "patch", method: "patch" },
  { verb: "create", method: "post" },
  { verb: "update", method: "put" },
] as const;

function idVerb(method: Operation["method"]): string {
  switch (method) {
    case "get":
      return "read";
    case "put":
      return "replace";
    case "post":
      return "create";
    default:
      return method;
  }
}
