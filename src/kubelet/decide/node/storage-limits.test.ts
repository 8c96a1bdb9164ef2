import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { exceededStorageLimit } from "./storage-limits.ts";

const MIB = 1024 ** 2;

const rows = [
  {
    name: "emptyDir sizeLimit",
    volumes: { scratch: 11 * MIB },
    want: 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". ',
  },
  {
    name: "limits of all containers together",
    volumes: { scratch: 9 * MIB, other: 5 * MIB },
    containers: { a: 10 * MIB, b: 10 * MIB },
    want: "Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. ",
  },
  {
    name: "the limit of one container",
    containers: { a: 11 * MIB },
    want: 'Container a exceeded its local ephemeral storage limit "10Mi". ',
  },
  { name: "nothing", volumes: { scratch: 10 * MIB }, containers: { a: 10 * MIB }, want: undefined },
];

for (const { name, volumes = {}, containers = {}, want } of rows) {
  test(`ephemeral-storage: ${name} exceeded`, () => {
    const limit = (text: string) => ({ limits: { "ephemeral-storage": text } });
    const pod: Pod = {
      metadata: { name: "pod" },
      spec: {
        containers: [
          { name: "a", resources: limit("10Mi") },
          { name: "b", resources: limit("20Mi") },
        ],
        volumes: [
          { name: "scratch", emptyDir: { sizeLimit: "10Mi" } },
          { name: "other", emptyDir: {} },
        ],
      },
      status: {},
    };
    const usage = {
      volumes: new Map<string, number>(Object.entries(volumes)),
      containers: new Map<string, number>(Object.entries(containers)),
    };
    assert.equal(exceededStorageLimit(pod, usage), want);
  });
}
