/** A CustomResourceDefinition and its objects on the built program, with the upstream kubectl. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, startProgram } from "../built-program.ts";

const missing = missingProgram("kubectl");
const folder = mkdtempSync(join(tmpdir(), "k8ts-crd-e2e-"));

beforeAll(() => buildProgram(), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        additionalPrinterColumns: [
          { name: "Color", type: "string", jsonPath: ".spec.color" },
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                description: "What the widget should be.",
                properties: {
                  color: { type: "string", enum: ["red", "blue"], description: "Its paint." },
                  replicas: { type: "integer", default: 1, minimum: 0 },
                },
                "x-kubernetes-validations": [
                  {
                    rule: "!has(self.color) || self.color != 'blue' || self.replicas < 9",
                    message: "blue is scarce",
                  },
                ],
              },
              status: { type: "object", properties: { replicas: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

test.skipIf(missing !== undefined)(
  "kubectl: create a CRD, then create, get, explain, patch, apply, scale and delete its objects",
  async () => {
    const data = join(folder, "data");
    await using program = startProgram([
      "up",
      "--foreground",
      "--no-node",
      "--data",
      data,
      "--port",
      "0",
    ]);
    await program.says(/ready in/);
    const kubectl = (args: string, input?: object) => {
      const config = ["--kubeconfig", join(data, "kubeconfig")];
      const text = input === undefined ? {} : { input: JSON.stringify(input) };
      return spawnSync("kubectl", [...config, ...args.split(" ")], { encoding: "utf8", ...text });
    };
    const works = (args: string, input?: object): string => {
      const { status, stdout, stderr } = kubectl(args, input);
      assert.equal(status, 0, `kubectl ${args}: ${stderr}`);
      return stdout;
    };
    const widget = (name: string, spec: object) => ({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name },
      spec,
    });

    works("create -f -", DEFINITION);
    works("wait --for=condition=Established crd/widgets.example.com --timeout=10s");
    works("create -f -", widget("a", { color: "red" }));
    assert.match(works("get wd"), /^NAME +COLOR +REPLICAS\na +red +1\n$/);
    assert.match(works("explain widget.spec.color"), /Its paint\./);

    const refused = kubectl("create -f -", widget("b", { color: "green" }));
    assert.match(refused.stderr, /spec.color: Unsupported value: "green"/);
    const unknown = kubectl("create -f -", widget("b", { colour: "red" }));
    assert.match(unknown.stderr, /unknown field "spec.colour"/);

    const patch = ["patch", "widget", "a", "--type=merge", "-p", '{"spec":{"color":"blue"}}'];
    works(patch.join(" "));
    works("scale widget/a --replicas=3");
    assert.equal(works("get widget a -o jsonpath={.spec}"), '{"color":"blue","replicas":3}');
    assert.match(kubectl("scale widget/a --replicas=9").stderr, /blue is scarce/);
    works("apply --server-side --force-conflicts -f -", widget("a", { color: "red" }));
    works("apply -f -", widget("b", { color: "red", replicas: 2 }));
    works("apply -f -", widget("b", { color: "red" }));
    assert.equal(works("get widget b -o jsonpath={.spec.replicas}"), "1");

    works("delete widget a");
    works("delete crd widgets.example.com --timeout=10s");
    assert.match(
      kubectl("get widgets").stderr,
      /could not find the requested resource|doesn.t have a resource type/,
    );
  },
  120_000,
);
