import assert from "node:assert/strict";
import { test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";

test("old changes leave the watch window even if no new ones come", async () => {
  await using t = await startTestApi();
  const { metadata } = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("it") });
  await t.clock.advance(30_000);
  for (let n = 0; n < 200; n++) {
    const body = configMap("it", { data: { n: String(n) } });
    await t.want(200, "PUT", `${CONFIG_MAPS}/it`, { body });
  }
  const first = async (): Promise<string> => {
    using feed = await t.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${metadata.resourceVersion}`,
    );
    const [event] = feed.pull(1);
    return (event as { type: string }).type;
  };
  assert.equal(await first(), "MODIFIED");

  await t.clock.advance(160_000);
  assert.equal(await first(), "ERROR");
});
