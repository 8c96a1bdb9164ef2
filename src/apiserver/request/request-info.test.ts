import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { requestInfoOf } from "./request-info.ts";

const cases = [
  { ask: "GET /api/v1/pods", want: "list :v1 pods" },
  { ask: "GET /api/v1/pods?watch=true", want: "watch :v1 pods" },
  { ask: "GET /api/v1/pods?watch=false", want: "list :v1 pods" },
  { ask: "GET /api/v1/pods?fieldSelector=metadata.name%3Da", want: "list :v1 pods a" },
  {
    ask: "GET /api/v1/pods?watch=1&fieldSelector=metadata.name%3D%3Da%2Cspec.nodeName%3Dn",
    want: "watch :v1 pods a",
  },
  { ask: "GET /api/v1/pods?fieldSelector=metadata.name!%3Da", want: "list :v1 pods" },
  { ask: "GET /api/v1/pods?fieldSelector=xmetadata.name%3Da", want: "list :v1 pods" },
  {
    ask: "DELETE /api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Da",
    want: "deletecollection :v1 n/pods",
  },
  { ask: "GET /api/v1/watch/pods?fieldSelector=metadata.name%3Da", want: "watch :v1 pods" },
  { ask: "GET /api/v1/namespaces/n/pods/a", want: "get :v1 n/pods a" },
  { ask: "HEAD /api/v1/namespaces/n/pods/a", want: "get :v1 n/pods a" },
  { ask: "PUT /api/v1/namespaces/n/pods/a/status", want: "update :v1 n/pods a status" },
  { ask: "POST /api/v1/namespaces/n/pods", want: "create :v1 n/pods" },
  { ask: "PATCH /apis/apps/v1/namespaces/n/deployments/d", want: "patch apps:v1 n/deployments d" },
  {
    ask: "DELETE /apis/apps/v1/namespaces/n/deployments",
    want: "deletecollection apps:v1 n/deployments",
  },
  { ask: "GET /api/v1/namespaces", want: "list :v1 namespaces" },
  { ask: "GET /api/v1/namespaces/n", want: "get :v1 n/namespaces n" },
  { ask: "PUT /api/v1/namespaces/n/finalize", want: "update :v1 n/namespaces n finalize" },
  { ask: "GET /api/v1/watch/namespaces/n/pods/a", want: "watch :v1 n/pods a" },
  { ask: "GET /api/v1/nodes/x/proxy/a/b", want: "get :v1 nodes x proxy [a/b]" },
  { ask: "GET /api/v1/namespaces/n/pods/a/proxy/", want: "get :v1 n/pods a proxy" },
  { ask: "GET /api/v1", want: "path get" },
  { ask: "GET /apis/apps", want: "path get" },
  { ask: "GET /healthz", want: "path get" },
  { ask: "POST /version", want: "path post" },
];

describe("API request: what a request asks for", () => {
  for (const { ask, want } of cases) {
    test(ask, () => {
      const [method = "", url = ""] = ask.split(" ");
      const [path = "", query = ""] = url.split("?");
      const info = requestInfoOf(method, path, new URLSearchParams(query));
      const { isResource, verb, group, version, namespace, resource, name, subresource, rest } =
        info;
      const place = namespace === "" ? resource : `${namespace}/${resource}`;
      const words = isResource
        ? [
            verb,
            `${group}:${version}`,
            place,
            name,
            subresource,
            rest.length > 0 ? `[${rest.join("/")}]` : "",
          ]
        : ["path", verb];
      assert.equal(words.filter((word) => word !== "").join(" "), want);
    });
  }
});
