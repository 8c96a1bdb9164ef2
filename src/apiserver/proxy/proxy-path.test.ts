import assert from "node:assert/strict";
import { test } from "vitest";
import { splitProxyPath } from "./proxy-path.ts";

const AT = "/api/v1/namespaces/d/services/https:s:443/proxy";
const rows = [
  { url: AT, want: { path: "", query: "" } },
  { url: `${AT}/`, want: { path: "/", query: "" } },
  { url: `${AT}/a/../b//c/?x=1&y=%20`, want: { path: "/b/c/", query: "?x=1&y=%20" } },
  { url: `${AT}/a%20b%2Fc(d)!`, want: { path: "/a%20b/c%28d%29%21", query: "" } },
];

for (const { url, want } of rows) {
  test(`proxy path ${url}`, () => {
    const [path = "", query = ""] = url.split("?");
    const request = {
      rawUrl: url,
      path: decodeURIComponent(path),
      query: new URLSearchParams(query),
    };
    assert.deepEqual(splitProxyPath(request as never), { prefix: AT, ...want });
  });
}
