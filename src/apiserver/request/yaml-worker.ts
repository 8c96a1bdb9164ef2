/** The thread that turns large YAML into JSON: one text for each message, answered in order. */
import { parentPort } from "node:worker_threads";
import { findJsonExcess } from "#api/codec/json-limits.ts";
import { yamlToJson } from "#api/codec/yaml.ts";
import type { ConvertedYaml } from "./yaml-thread.ts";

const port = parentPort;
if (port === null) throw new Error("this is a worker thread's file");

port.on("message", (bytes: Uint8Array) => port.postMessage(convert(bytes)));

function convert(bytes: Uint8Array): ConvertedYaml {
  const yaml = yamlToJson(Buffer.from(bytes).toString());
  if (!yaml.ok) return { yaml };
  const excess = findJsonExcess(Buffer.from(yaml.json));
  // A value that exceeds a limit is not sent back, only the name of the limit.
  return excess === undefined ? { yaml } : { excess };
}
