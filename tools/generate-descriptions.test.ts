import assert from "node:assert/strict";
import { test } from "vitest";
import { descriptionLines, descriptionsFrom } from "#api/openapi/descriptions.ts";
import { openApiV3 } from "#api/openapi/documents.ts";
import { readDescriptions } from "./generate-descriptions.ts";

const descriptions = readDescriptions();

test("OpenAPI descriptions: types and fields have texts", () => {
  const port = descriptions["io.k8s.api.core.v1.ContainerPort"]!;
  assert.equal(port.type, "ContainerPort represents a network port in a single container.");
  assert.match(port.fields.protocol!, /Defaults to "TCP"\./);
  assert.match(
    descriptions["io.k8s.api.core.v1.PodSpec"]!.type,
    /^PodSpec is a description of a pod/,
  );
  const meta = descriptions["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"]!;
  assert.ok("continue" in meta.fields, "a reserved word is found under its own name");
  const schema =
    descriptions["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]!;
  assert.ok("x-kubernetes-list-type" in schema.fields);
});

test("kubectl explain: a field of object type has its own description, not that of the type", () => {
  const { fields } = descriptions["io.k8s.api.core.v1.PodSpec"]!;
  assert.equal(fields.affinity, "If specified, the pod's scheduling constraints");
  assert.equal(
    descriptions["io.k8s.api.apps.v1.Deployment"]!.fields.spec,
    "Specification of the desired behavior of the Deployment.",
  );
  assert.match(
    descriptions["io.k8s.api.resource.v1beta1.DeviceClass"]!.fields.metadata!,
    /^Standard object metadata/,
    "a beta version has the text of the stable one",
  );
  assert.match(fields.dnsPolicy!, /\n\nPossible enum values:\n - `"ClusterFirst"` indicates/);
});

test("OpenAPI descriptions: there are more than 740 types and 2,900 fields, and none has a stray comment", () => {
  const all = Object.values(descriptions);
  assert.ok(all.length > 740);
  assert.ok(all.reduce((sum, { fields }) => sum + Object.keys(fields).length, 0) > 2900);
  for (const { type, fields } of all) {
    for (const text of [type, ...Object.values(fields)])
      assert.doesNotMatch(text, /OpenAPI Generator|\/\*\*/);
  }
});

test("OpenAPI descriptions: they are in the v2 and v3 documents", () => {
  const pods = {
    group: "",
    version: "v1",
    plural: "pods",
    kind: "Pod",
    namespaced: true,
    verbs: ["get"],
    definition: "io.k8s.api.core.v1.Pod",
    subresources: [],
  };
  const described = descriptionsFrom(Buffer.from(descriptionLines(descriptions)));
  const document = openApiV3(
    { resources: [pods], descriptions: described, serverVersion: "1.36" },
    "api/v1",
  );
  assert.match(JSON.stringify(document), /A list of ephemeral containers|Image pull policy/);
});
