import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { scrapeTarget } from "./scrape-target.ts";

function pod(
  annotations: Record<string, string>,
  phase: Pod["status"]["phase"] & string = "Running",
): Pod {
  return build(podKind, {
    metadata: { name: "p", annotations },
    spec: { containers: [{ name: "c", ports: [{ containerPort: 8080 }] }] },
    status: { phase, podIP: "10.0.0.7" },
  });
}

const ON = { "prometheus.io/scrape": "true" };

describe("prometheus.io annotations", () => {
  const rows = [
    { name: "off without the annotation", pod: pod({}), want: undefined },
    { name: "first container port and /metrics", pod: pod(ON), want: "10.0.0.7:8080/metrics" },
    {
      name: "port and path are taken from annotations",
      pod: pod({ ...ON, "prometheus.io/port": "9", "prometheus.io/path": "/m?x=1" }),
      want: "10.0.0.7:9/m?x=1",
    },
    {
      name: "a port that is none",
      pod: pod({ ...ON, "prometheus.io/port": "1e9" }),
      want: undefined,
    },
    {
      name: "a path that is none",
      pod: pod({ ...ON, "prometheus.io/path": "http://x" }),
      want: undefined,
    },
    {
      name: "line breaks in a path",
      pod: pod({ ...ON, "prometheus.io/path": "/\r\nx" }),
      want: undefined,
    },
    { name: "a pod that does not run", pod: pod(ON, "Succeeded"), want: undefined },
  ];
  test.each(rows)("$name", ({ pod: given, want }) => {
    const found = scrapeTarget(given);
    assert.equal(found && `${found.host}:${found.port}${found.path}`, want);
  });
});
