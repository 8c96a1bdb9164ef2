import assert from "node:assert/strict";
import { test } from "vitest";
import { Metrics } from "./metrics.ts";

test("Metrics: writes Prometheus' text format, families in order of name", () => {
  const metrics = new Metrics();
  const requests = metrics.counter({
    name: "requests_total",
    help: "All requests.",
    labels: ["verb", "code"],
  });
  requests("GET", "200").add(2);
  requests("GET", "200").add(1);
  requests('we"ird\n', "\\").add(1);
  metrics.gauge({ name: "inflight", help: "Now\nrunning." })().set(-1.5);
  metrics.gaugeOf({ name: "answer", help: "Asked for." }, () => 42);
  const seconds = metrics.histogram({
    name: "seconds",
    help: "h",
    labels: ["verb"],
    buckets: [0.1, 1],
  });
  for (const value of [0.1, 0.5, 5]) seconds("GET").observe(value);
  assert.equal(
    metrics.text(),
    `# HELP answer Asked for.
# TYPE answer gauge
answer 42
# HELP inflight Now\\nrunning.
# TYPE inflight gauge
inflight -1.5
# HELP requests_total All requests.
# TYPE requests_total counter
requests_total{verb="GET",code="200"} 3
requests_total{verb="we\\"ird\\n",code="\\\\"} 1
# HELP seconds h
# TYPE seconds histogram
seconds_bucket{verb="GET",le="0.1"} 1
seconds_bucket{verb="GET",le="1"} 2
seconds_bucket{verb="GET",le="+Inf"} 3
seconds_sum{verb="GET"} 5.6
seconds_count{verb="GET"} 3
`,
  );
});

test("Metrics: numbers are written as Go writes them", () => {
  const metrics = new Metrics();
  const bind = metrics.gauge({ name: "n", help: "", labels: ["i"] });
  const values = [0, 999_999, 1_000_000, 15_552_000, 0.0001, 0.00001, -2_500_000, 1e21];
  for (const [at, value] of values.entries()) bind(String(at)).set(value);
  const shown = [...metrics.text().matchAll(/} (.*)/g)].map(([, text]) => text);
  assert.deepEqual(shown, [
    "0",
    "999999",
    "1e+06",
    "1.5552e+07",
    "0.0001",
    "1e-05",
    "-2.5e+06",
    "1e+21",
  ]);
});

test("Metrics: a name is registered once and must be a name", () => {
  const metrics = new Metrics();
  metrics.counter({ name: "a", help: "" });
  assert.throws(() => metrics.gauge({ name: "a", help: "" }), /registered already/);
  assert.throws(() => metrics.gauge({ name: "a b", help: "" }), /bad name/);
});

test("label sets are bounded", () => {
  const metrics = new Metrics();
  const hits = metrics.counter({ name: "hits", help: "", labels: ["who"], seriesMax: 2 });
  for (let i = 0; i < 100; i++) hits(`user-${i}`).add(1);
  const lines = metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("hits{"));
  assert.deepEqual(lines, [
    'hits{who="user-0"} 1',
    'hits{who="user-1"} 1',
    'hits{who="overflow"} 98',
  ]);
});

test("the number of label values must fit", () => {
  const hits = new Metrics().counter({ name: "hits", help: "", labels: ["who"] });
  assert.throws(() => hits(), /has 1 labels, got 0/);
});

test("Metrics: a summary has quantiles of the latest values, and the sum and count of all", () => {
  const metrics = new Metrics();
  const seconds = metrics.summary({ name: "seconds", help: "h", labels: ["verb"] });
  seconds("PUT");
  for (let at = 0; at < 600; at++) seconds("GET").observe(1_000);
  for (let at = 1; at <= 512; at++) seconds("GET").observe(at);
  const lines = metrics.text().split("\n");
  assert.deepEqual(lines.slice(2, -1), [
    'seconds{verb="PUT",quantile="0.5"} NaN',
    'seconds{verb="PUT",quantile="0.9"} NaN',
    'seconds{verb="PUT",quantile="0.99"} NaN',
    'seconds_sum{verb="PUT"} 0',
    'seconds_count{verb="PUT"} 0',
    'seconds{verb="GET",quantile="0.5"} 256',
    'seconds{verb="GET",quantile="0.9"} 461',
    'seconds{verb="GET",quantile="0.99"} 507',
    'seconds_sum{verb="GET"} 731328',
    'seconds_count{verb="GET"} 1112',
  ]);
});

test("Metrics: a registry that is included is shown among the others, for as long", () => {
  const [whole, part] = [new Metrics(), new Metrics()];
  whole.counter({ name: "c", help: "h" })().add(1);
  whole.counter({ name: "a", help: "h" })().add(1);
  part.counter({ name: "b", help: "h" })().add(1);
  const shown = (): string[] =>
    whole
      .text()
      .split("\n")
      .filter((line) => /^\w/.test(line));
  const included = whole.include(part);
  assert.deepEqual(shown(), ["a 1", "b 1", "c 1"]);
  included[Symbol.dispose]();
  assert.deepEqual(shown(), ["a 1", "c 1"]);
});

test("metrics: families of the same name in two parts have one HELP and one TYPE line", () => {
  const all = new Metrics();
  for (const label of ["a", "b"]) {
    const part = new Metrics();
    part
      .counter({ name: "things_total", help: "Things.", labels: ["of"] })(label)
      .add(1);
    all.include(part);
  }
  assert.equal(
    all.text(),
    '# HELP things_total Things.\n# TYPE things_total counter\nthings_total{of="a"} 1\nthings_total{of="b"} 1\n',
  );
});
