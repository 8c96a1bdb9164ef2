import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { NO_DESCRIPTIONS } from "./definition.ts";
import { type OpenApiInput, openApiV2, openApiV3, openApiV3Paths } from "./documents.ts";
import type { OpenApiResource } from "./resource.ts";

const ALL_VERBS = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

const pods: OpenApiResource = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
  verbs: ALL_VERBS,
  definition: "io.k8s.api.core.v1.Pod",
  deleteAnswersObject: true,
  subresources: [
    { name: "status", verbs: ["get", "patch", "update"] },
    { name: "log", verbs: ["get"], options: "core.v1.PodLogOptions" },
    {
      name: "eviction",
      verbs: ["create"],
      speaks: {
        group: "policy",
        version: "v1",
        kind: "Eviction",
        definition: "io.k8s.api.policy.v1.Eviction",
      },
    },
    {
      name: "exec",
      verbs: ["create", "get"],
      speaks: { group: "", version: "v1", kind: "PodExecOptions", definition: "" },
      options: "core.v1.PodExecOptions",
    },
  ],
};
const deployments: OpenApiResource = {
  ...pods,
  group: "apps",
  plural: "deployments",
  kind: "Deployment",
  definition: "io.k8s.api.apps.v1.Deployment",
  deleteAnswersObject: false,
  subresources: [],
};
const widgets: OpenApiResource = {
  ...deployments,
  group: "example.com",
  plural: "widgets",
  kind: "Widget",
  definition: "com.example.v1.Widget",
  custom: {
    v2: { type: "object", description: "made up" },
    v3: { type: "object", description: "made up" },
    listKind: "WidgetList",
  },
  namespaced: false,
};
const input: OpenApiInput = {
  resources: [pods, deployments, widgets],
  descriptions: NO_DESCRIPTIONS,
  serverVersion: "1.36",
};

type Tree = { readonly [key: string]: Tree };

function at(document: unknown, ...path: string[]): unknown {
  return path.reduce((node, step) => (node as Tree)?.[step], document as Tree | undefined);
}

describe("OpenAPI: version 2", () => {
  const document = openApiV2(input);
  const operation = (path: string, method: string) => at(document, "paths", path, method) as Tree;

  const operations: readonly (readonly [string, string, string])[] = [
    ["/api/v1/pods", "get", "listCoreV1PodForAllNamespaces"],
    ["/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod"],
    ["/api/v1/namespaces/{namespace}/pods", "post", "createCoreV1NamespacedPod"],
    ["/api/v1/namespaces/{namespace}/pods/{name}", "put", "replaceCoreV1NamespacedPod"],
    [
      "/api/v1/namespaces/{namespace}/pods/{name}/status",
      "patch",
      "patchCoreV1NamespacedPodStatus",
    ],
    [
      "/api/v1/namespaces/{namespace}/pods/{name}/eviction",
      "post",
      "createCoreV1NamespacedPodEviction",
    ],
    [
      "/api/v1/namespaces/{namespace}/pods/{name}/exec",
      "post",
      "connectCoreV1PostNamespacedPodExec",
    ],
    ["/api/v1/watch/namespaces/{namespace}/pods/{name}", "get", "watchCoreV1NamespacedPod"],
    ["/apis/apps/v1/watch/deployments", "get", "watchAppsV1DeploymentListForAllNamespaces"],
    ["/apis/apps/v1/", "get", "getAppsV1APIResources"],
    ["/apis/apps/", "get", "getAppsAPIGroup"],
    ["/api/", "get", "getCoreAPIVersions"],
    ["/apis/example.com/v1/widgets/{name}", "delete", "deleteExampleComV1Widget"],
  ];
  for (const [path, method, id] of operations) {
    test(`${method} ${path} is ${id}`, () => assert.equal(operation(path, method).operationId, id));
  }

  test("parameters of all operations of a path stand beside them", () => {
    const path = "/api/v1/namespaces/{namespace}/pods/{name}";
    const names = (list: unknown) => (list as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names(at(document, "paths", path, "parameters")), [
      "name",
      "namespace",
      "pretty",
    ]);
    assert.deepEqual(names(operation(path, "patch").parameters), [
      "body",
      "dryRun",
      "fieldManager",
      "fieldValidation",
      "force",
    ]);
    const log = at(document, "paths", `${path}/log`, "parameters");
    assert.ok(names(log).includes("tailLines") && !names(log).includes("sinceTime"));
  });

  test("answers name their definitions", () => {
    const path = "/api/v1/namespaces/{namespace}/pods/{name}";
    const answer = (p: string) => at(operation(p, "delete"), "responses", "200", "schema", "$ref");
    assert.equal(answer(path), "#/definitions/io.k8s.api.core.v1.Pod");
    const status = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status";
    assert.equal(answer("/apis/apps/v1/namespaces/{namespace}/deployments/{name}"), status);
  });

  test("every reference leads somewhere", () => {
    const definitions = at(document, "definitions") as Tree;
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/definitions\/([^"]+)"/g)) {
      assert.ok(name! in definitions, name);
    }
  });

  test("x-kubernetes-group-version-kind of kinds, and of types that belong to every group version", () => {
    const kinds = (name: string) =>
      at(document, "definitions", name, "x-kubernetes-group-version-kind");
    assert.deepEqual(kinds("io.k8s.api.apps.v1.Deployment"), [
      { group: "apps", kind: "Deployment", version: "v1" },
    ]);
    assert.equal(
      (kinds("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions") as unknown[]).length,
      3,
    );
  });

  test("a custom resource has its own definition and fewer media types", () => {
    const patch = operation("/apis/example.com/v1/widgets/{name}", "patch");
    assert.deepEqual(patch.consumes, [
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/apply-patch+yaml",
    ]);
    assert.equal(at(document, "definitions", "com.example.v1.Widget", "description"), "made up");
  });
});

describe("OpenAPI v3", () => {
  test("a document holds the paths of its group version and the schemas they refer to", () => {
    const document = openApiV3(input, "apis/apps/v1");
    const schemas = at(document, "components", "schemas") as Tree;
    assert.ok(
      "io.k8s.api.core.v1.PodSpec" in schemas && !("io.k8s.api.core.v1.PodList" in schemas),
    );
    assert.ok(
      Object.keys(at(document, "paths") as Tree).every((path) => path.startsWith("/apis/apps/v1/")),
    );
    assert.equal(openApiV3(input, "apis/apps/v9"), undefined);
  });

  test("/version and discovery have documents too", () => {
    const paths = openApiV3Paths(input.resources);
    assert.deepEqual(paths, [
      ...[".well-known/openid-configuration", "api", "api/v1", "apis", "apis/apps", "apis/apps/v1"],
      ...["apis/example.com", "apis/example.com/v1", "openid/v1/jwks", "version"],
    ]);
    for (const path of paths) {
      const document = openApiV3(input, path);
      const own = Object.keys(at(document, "paths") as Tree);
      assert.ok(own.includes(`/${path}/`), `${path}: ${own}`);
    }
    const version = openApiV3(input, "version");
    const schema = "io.k8s.apimachinery.pkg.version.Info";
    assert.deepEqual(at(version, "components", "schemas", schema, "properties", "platform"), {
      type: "string",
      default: "",
    });
    assert.deepEqual(Object.keys(at(openApiV3(input, "openid/v1/jwks"), "components") as Tree), [
      "securitySchemes",
    ]);
  });

  test("options and events are of the core group and the document's own", () => {
    const options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    const kinds = (path: string) =>
      at(
        openApiV3(input, path),
        "components",
        "schemas",
        options,
        "x-kubernetes-group-version-kind",
      );
    const [core, apps] = ["", "apps"].map((group) => ({
      group,
      kind: "DeleteOptions",
      version: "v1",
    }));
    assert.deepEqual(kinds("api/v1"), [core]);
    assert.deepEqual(kinds("apis/apps/v1"), [core, apps]);
  });

  test("fields state defaults, enums and x-kubernetes-list-type; references with a default are wrapped in allOf", () => {
    const document = openApiV3(input, "api/v1");
    const property = (type: string, field: string) =>
      at(document, "components", "schemas", `io.k8s.api.core.v1.${type}`, "properties", field);
    assert.deepEqual(property("ContainerPort", "protocol"), {
      type: "string",
      enum: ["SCTP", "TCP", "UDP"],
      default: "TCP",
    });
    assert.deepEqual(property("Container", "resources"), {
      allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements" }],
      default: {},
    });
    assert.deepEqual(property("Container", "ports"), {
      type: "array",
      items: {
        allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.ContainerPort" }],
        default: {},
      },
      "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
      "x-kubernetes-list-type": "map",
      "x-kubernetes-patch-merge-key": "containerPort",
      "x-kubernetes-patch-strategy": "merge",
    });
  });

  test("the verifier of kubectl finds fieldValidation on a patch", () => {
    const document = openApiV3(input, "apis/apps/v1");
    const patch = at(
      document,
      "paths",
      "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
      "patch",
    );
    const parameters = at(patch, "parameters") as { name: string }[];
    assert.ok(parameters.some(({ name }) => name === "fieldValidation"));
  });
});

test("OpenAPI: descriptions is asked for by definition and field", () => {
  const descriptions = {
    type: (definition: string) => `about ${definition.split(".").at(-1)}`,
    field: (_: string, field: string) => (field === "image" ? "about image" : undefined),
  };
  const document = openApiV3({ ...input, descriptions }, "api/v1");
  const container = at(document, "components", "schemas", "io.k8s.api.core.v1.Container");
  assert.equal(at(container, "description"), "about Container");
  assert.equal(at(container, "properties", "image", "description"), "about image");
  assert.equal(at(container, "properties", "lifecycle", "description"), "about Lifecycle");
});
