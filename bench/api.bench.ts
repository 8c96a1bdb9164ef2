/** What reading, checking and writing an object costs, beside bare JSON.parse and JSON.stringify. */

import { spawnSync } from "node:child_process";
import { decodeJson, encodeJson } from "#api/codec/json.ts";
import { decodeProtobuf, encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import { decodeYaml, encodeYaml } from "#api/codec/yaml.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { finish } from "#lib/async/steps.ts";
import type { BenchOptions, Row } from "./row.ts";
import { samplePod } from "./samples/pod.ts";

export const name = "api";

/** The most that a pod may take from protobuf. */
const PROTOBUF_LIMIT_US = 60;

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const rounds = quick ? 200 : 1000;
  const { fromProtobuf, toProtobuf, fromYaml, toYaml, ...json } = podTasks();
  progress("JSON");
  const us = {
    ...interleaved(json, rounds),
    ...interleaved({ fromProtobuf, toProtobuf }, rounds),
    ...interleaved({ fromYaml, toYaml }, rounds),
  };
  const limit = { limit: us.bare, limitName: "JSON.parse + stringify" };
  yield { name: "pod decode + encode", value: us.json, unit: "µs", ...limit };
  const create = "pod decode + default + validate + encode";
  yield { name: create, value: us.create, unit: "µs", ...limit, target: 3 };
  yield {
    name: "pod from protobuf",
    value: us.fromProtobuf,
    unit: "µs",
    limit: PROTOBUF_LIMIT_US,
    limitName: "60 µs",
    target: 1,
  };
  yield { name: "pod to protobuf", value: us.toProtobuf, unit: "µs", ...limit };
  yield { name: "pod from YAML", value: us.fromYaml, unit: "µs", ...limit };
  yield { name: "pod to YAML", value: us.toYaml, unit: "µs", ...limit };

  progress("start");
  const first = coldMilliseconds(quick ? 3 : 9);
  yield { name: "first pod decoded in a new process", value: first, unit: "ms" };
}

function podTasks() {
  const schema = schemaOf("core.v1.Pod");
  const text = JSON.stringify(samplePod);
  const bytes = encodeProtobuf(schema, samplePod);
  const yaml = encodeYaml(samplePod);
  const decode = () => {
    const decoded = decodeJson(schema, text);
    if (!decoded.ok) throw new Error(decoded.error);
    return decoded.value;
  };
  return {
    bare: () => JSON.stringify(JSON.parse(text)),
    json: () => encodeJson(decode()),
    create: () => {
      const draft = decode() as never;
      podKind.defaults?.(draft);
      podKind.prepareCreate?.(draft, { nowMs: 0 });
      const faults = finish(fieldErrorSteps(podKind.validate?.(draft, { nowMs: 0 })));
      if (faults.length > 0) throw new Error(encodeJson(faults));
      return encodeJson(draft);
    },
    fromProtobuf: () => {
      const envelope = readEnvelope(bytes);
      if (!envelope.ok) throw new Error(envelope.error);
      return decodeProtobuf(schema, envelope.message);
    },
    toProtobuf: () => encodeProtobuf(schema, samplePod),
    fromYaml: () => decodeYaml(schema, yaml),
    toYaml: () => encodeYaml(samplePod),
  };
}

/** Microseconds of each task, the best of many windows that take turns: they share good and bad moments. */
function interleaved<Name extends string>(
  tasks: Readonly<Record<Name, () => unknown>>,
  rounds: number,
): Record<Name, number> {
  const names = Object.keys(tasks) as Name[];
  const best = Object.fromEntries(names.map((n) => [n, Number.POSITIVE_INFINITY]));
  for (let window = 0; window < WINDOWS; window++) {
    for (const task of names) {
      const start = performance.now();
      for (let i = 0; i < rounds; i++) tasks[task]();
      const us = ((performance.now() - start) / rounds) * 1000;
      best[task] = Math.min(best[task]!, us);
    }
  }
  return best as Record<Name, number>;
}

const WINDOWS = 25;

/** From loaded modules to the first object: fact table, schemas and generated code. */
function coldMilliseconds(times: number): number {
  const script = `
    const { decodeJson } = await import("#api/codec/json.ts");
    const { schemaOf } = await import("#api/schema/from-facts.ts");
    const { samplePod } = await import("./bench/samples/pod.ts");
    const text = JSON.stringify(samplePod);
    const start = performance.now();
    decodeJson(schemaOf("core.v1.Pod"), text);
    process.stdout.write(String(performance.now() - start));`;
  const args = [...process.execArgv, "--input-type=module", "--eval", script];
  const figures = Array.from({ length: times }, () => {
    const { stdout, status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return Number(stdout);
  });
  return Math.min(...figures);
}
