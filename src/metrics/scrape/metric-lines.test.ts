import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { labelsOf, metricLines, metricTypes } from "./metric-lines.ts";

describe("Prometheus text format", () => {
  const rows = [
    { line: "up 1", want: ["up", "", 1, undefined] },
    { line: "up 1 1700000000000", want: ["up", "", 1, 1_700_000_000_000] },
    { line: 'a{b="c"} 2.5e-3', want: ["a", 'b="c"', 0.0025, undefined] },
    { line: 'a{b="}{"} +Inf', want: ["a", 'b="}{"', Number.POSITIVE_INFINITY, undefined] },
    { line: String.raw`a{b="\"}"} 3 7`, want: ["a", String.raw`b="\"}"`, 3, 7] },
    { line: 'a{b="c"} 4 # {trace="x"} 1', want: ["a", 'b="c"', 4, undefined] },
    { line: "a{} 5", want: ["a", "", 5, undefined] },
    { line: "# TYPE a counter", want: undefined },
    { line: "a", want: undefined },
    { line: "a{b 1", want: undefined },
    { line: "a b", want: undefined },
  ];
  test.each(rows)("metric line: $line", ({ line, want }) => {
    const found = [...metricLines(`${line}\n`)].map((one) => Object.values(one));
    assert.deepEqual(found, want === undefined ? [] : [want]);
  });

  test("labels: escapes are resolved, keys such as constructor are plain keys", () => {
    const labels = labelsOf(String.raw`a="x\"\\\n",constructor="c"`);
    assert.equal(labels.a, 'x"\\\n');
    assert.equal(labels.constructor, "c");
    assert.equal(labels.toString, undefined);
  });

  test("types: read from # TYPE lines", () => {
    const types = metricTypes("# HELP a x\n# TYPE a_total counter\na_total 1\n# TYPE b gauge\n");
    assert.deepEqual([...types], [["a_total", "counter"], ["b", "gauge"]]); // biome-ignore format: one row
  });
});
