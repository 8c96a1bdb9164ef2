import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { FlagError } from "../flags/parse-flags.ts";
import { parseUpFlags } from "./up-flags.ts";

describe("k8ts up: flags", () => {
  test("privileged containers are allowed and only loopback is listened on, unless flags say otherwise", () => {
    const { server } = parseUpFlags(["--no-node"]);
    assert.deepEqual([server.allowPrivileged, server.bindAddress], [true, "127.0.0.1"]);
    const other = parseUpFlags(["--allow-privileged=false", "--bind-address", "0.0.0.0"]).server;
    assert.deepEqual([other.allowPrivileged, other.bindAddress], [false, "0.0.0.0"]);
  });

  test("flags of the API server and of the controller manager are given to each", () => {
    const { server, controllers, node } = parseUpFlags([
      ...["--event-ttl", "2h", "--node-monitor-grace-period", "20s", "--no-node"],
      ...["--concurrent-deployment-syncs=9", "--allow-privileged", "--tls-san=a.example,10.1.2.3"],
    ]);
    assert.equal(node, false);
    assert.equal(server.eventTtlSeconds, 7200);
    assert.deepEqual(server.tlsSan, ["a.example", "10.1.2.3"]);
    assert.deepEqual(controllers.given, {
      nodeMonitorGracePeriod: "20s",
      concurrentDeploymentSyncs: "9",
    });
  });

  test("--nodes with --no-node is refused", () => {
    assert.throws(
      () => parseUpFlags(["--nodes=2", "--no-node"]),
      new FlagError("--nodes cannot be used with --no-node"),
    );
    assert.equal(parseUpFlags(["--nodes=2"]).nodes, 2);
  });

  test.each([
    {
      args: ["--port=https"],
      says: 'invalid argument "https" for "--port" flag: strconv.ParseInt: parsing "https": invalid syntax',
    },
    { args: ["--port=70000"], says: "--port 70000 must be between 0 and 65535, inclusive" },
    {
      args: ["--secure-port=70000"],
      says: "--secure-port 70000 must be between 0 and 65535, inclusive",
    },
    { args: ["--nonsense"], says: "unknown flag: --nonsense" },
  ])("$args is refused by the name that was typed", ({ args, says }) => {
    assert.throws(() => parseUpFlags(args), new FlagError(says));
  });
});
