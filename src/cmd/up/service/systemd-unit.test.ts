import assert from "node:assert/strict";
import { test } from "vitest";
import { systemdUnit, unitName } from "./systemd-unit.ts";

test("--install-service: the unit starts the cluster in the foreground with escaped paths", () => {
  const options = {
    node: "/usr/bin/node",
    nodeFlags: [],
    program: "/opt/k8ts.js",
    isDefault: false,
  };
  const unit = systemdUnit({ ...options, dataDir: '/srv/a "b" 5%$x' });
  assert.match(
    unit,
    /^ExecStart="\/usr\/bin\/node" "\/opt\/k8ts\.js" "up" "--foreground" "--data=\/srv\/a \\"b\\" 5%%\$\$x"$/m,
  );
  assert.match(unit, /^WantedBy=multi-user\.target$/m);
  assert.equal(unitName({ dataDir: "/srv/a b", isDefault: false }), "k8ts-a-b");
  assert.equal(unitName({ dataDir: "/root/.k8ts", isDefault: true }), "k8ts");
});
