import assert from "node:assert/strict";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import type { ApiRequest } from "../request/request.ts";
import type { Answer } from "../response/answer.ts";
import { profilePaths } from "./profile-paths.ts";

const handler = profilePaths(systemClock);

async function ask(path: string, query = ""): Promise<Answer | undefined> {
  const request = { path, query: new URLSearchParams(query) } as Partial<ApiRequest> as ApiRequest;
  return handler(request, {} as never, { name: "u", groups: [] } as never);
}

test.each([
  ["profile", /"samples":\[/],
  ["heap", /"selfSize"/],
])(
  "API server paths: /debug/pprof/%s is a profile that V8's tools read",
  async (name, contains) => {
    const answer = await ask(`/debug/pprof/${name}`, "seconds=0.05");
    assert.equal(answer?.body.form, "bytes");
    assert.match(
      Buffer.from(answer?.body.form === "bytes" ? answer.body.bytes : "").toString(),
      contains,
    );
  },
);

test("API server paths: one profile at a time", async () => {
  const first = ask("/debug/pprof/profile", "seconds=0.1");
  const second = await ask("/debug/pprof/heap", "seconds=0.1");
  assert.equal(second?.code, 429);
  assert.equal((await first)?.code, 200);
});

test("API server paths: other paths are not here", async () => {
  assert.equal(await ask("/debug"), undefined);
});
