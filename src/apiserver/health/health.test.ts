import assert from "node:assert/strict";
import { test } from "vitest";
import { startTestApi } from "../api.testing.ts";

test("API server: a server is ready when every step of its start is done, and says which are not", async () => {
  await using server = await startTestApi({
    hooks: [
      { name: "poststarthook/start-informers", step: "caches" },
      { name: "poststarthook/rbac/roles", step: "access" },
    ],
  });
  const ask = async (path: string) => {
    const { code, body } = await server.ask("GET", path);
    return { code, body };
  };

  assert.deepEqual(await ask("/livez"), {
    code: 500,
    body: `[+]ping ok
[+]log ok
[+]loopback-serving-certificate ok
[+]etcd ok
[+]poststarthook/start-informers ok
[-]poststarthook/rbac/roles failed: reason withheld
livez check failed
`,
  });
  assert.deepEqual(await ask("/readyz/poststarthook/rbac/roles"), {
    code: 500,
    body: "internal server error: not finished\n",
  });
  assert.deepEqual(await ask("/readyz?exclude=poststarthook/rbac/roles"), {
    code: 200,
    body: "ok",
  });

  server.api.finished("access");
  assert.deepEqual(await ask("/readyz"), { code: 200, body: "ok" });
  assert.deepEqual(await ask("/readyz/poststarthook/rbac/roles"), { code: 200, body: "ok" });
});
