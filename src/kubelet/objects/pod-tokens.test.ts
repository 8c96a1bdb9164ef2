import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { TransportError } from "#client/transport.ts";
import { seededRandom } from "#lib/random.ts";
import { Faults } from "#testing/faults.ts";
import { startCluster } from "#testing/test-cluster.ts";
import { PodTokens } from "./pod-tokens.ts";

const POD = `{ apiVersion: v1, kind: Pod, metadata: { name: web }, spec: { containers: [{ name: web, image: web }] } }`;

test("a token is used until it expires while the API server is away, and renewed when it is back", async () => {
  await using cluster = await startCluster({});
  await cluster.apply(POD);
  const { clock } = cluster;
  const faults = new Faults(); // of this client alone
  const transport = faults.between(cluster.transport, clock);
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const tokens = new PodTokens(client, clock);
  const [pod] = cluster.list<Pod>(podKind);
  const get = async (): Promise<string> =>
    (await tokens.get(pod!, { expirationSeconds: 600 })).token;
  const first = await get();
  assert.equal(await get(), first);
  await cluster.advance("490s");
  faults.disconnect(1);
  assert.equal(await get(), first); // renewal is due, and fails
  assert.equal(await get(), first); // not tried again at once
  await cluster.advance("10s");
  assert.notEqual(await get(), first);
  await cluster.advance("600s");
  faults.disconnect(1);
  await assert.rejects(get(), TransportError);
});
