import assert from "node:assert/strict";
import { test } from "vitest";
import { descriptionLines, descriptionsFrom } from "./descriptions.ts";

test("OpenAPI descriptions are found by definition and field, with tabs, newlines and other scripts in them", () => {
  const lines = descriptionLines({
    "io.k8s.api.core.v1.Pod": { type: "A pod.\n\nOf containers.", fields: { spec: "a\tb – é" } },
    "io.k8s.api.core.v1.Node": { type: "", fields: { status: "…" } },
  });
  const descriptions = descriptionsFrom(Buffer.from(lines));
  assert.equal(descriptions.type("io.k8s.api.core.v1.Pod"), "A pod.\n\nOf containers.");
  assert.equal(descriptions.field("io.k8s.api.core.v1.Pod", "spec"), "a\tb – é");
  assert.equal(descriptions.field("io.k8s.api.core.v1.Node", "status"), "…");
  assert.equal(descriptions.type("io.k8s.api.core.v1.Node"), undefined);
  assert.equal(descriptions.field("io.k8s.api.core.v1.Pod", "absent"), undefined);
  assert.equal(descriptions.type("io.k8s.api.core.v1.Absent"), undefined);
});
