import assert from "node:assert/strict";
import { test } from "vitest";
import { accessObjects } from "#apiserver/bootstrap/access-objects.ts";
import { accountOf } from "./accounts.ts";
import { builtInControllers } from "./controllers.ts";

test("every controller acts as an account that has a bootstrap role", () => {
  const { clusterRoles, roles: namespaced } = accessObjects();
  const roles = new Set([...clusterRoles, ...namespaced].map(({ metadata }) => metadata.name));
  const names = [
    ...builtInControllers({ rootCa: "ca" }).map(({ name }) => name),
    "garbage-collector-controller",
  ];
  const lacking = names.filter((name) => {
    const account = accountOf(name);
    return account !== undefined && !roles.has(`system:controller:${account}`);
  });
  assert.deepEqual(lacking, []);
});
