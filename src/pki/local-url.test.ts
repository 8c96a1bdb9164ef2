import assert from "node:assert/strict";
import { test } from "vitest";
import { localUrl } from "./local-url.ts";

test.each([
  { bindAddress: "0.0.0.0", url: "https://127.0.0.1:6443" },
  { bindAddress: "::", url: "https://127.0.0.1:6443" },
  { bindAddress: "127.0.0.1", url: "https://127.0.0.1:6443" },
  { bindAddress: "127.0.0.2", url: "https://127.0.0.2:6443" },
  { bindAddress: "::1", url: "https://[::1]:6443" },
])("kubeconfig server URL for --bind-address $bindAddress", ({ bindAddress, url }) => {
  assert.equal(localUrl(bindAddress, 6443), url);
});
