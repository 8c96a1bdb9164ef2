/** Traces, as the file of `--tracing-config-file` asks for them. */
import { readFileSync } from "node:fs";
import { parseTracingConfig } from "#apiserver/config/tracing-config.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { SpanExporter } from "#lib/tracing/span-exporter.ts";
import { keyValues, Tracer } from "#lib/tracing/tracer.ts";
import { FlagError } from "../flags/parse-flags.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is queued. */
  close(): Promise<void>;
}

interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The server's own name. */
  readonly identity: string;
}

/** Undefined: no file is given. Throws FlagError for one that cannot be used. */
export function openTracing(
  { tracingConfigFile: file }: Pick<ApiServerFlags, "tracingConfigFile">,
  { clock, random, logger, identity }: Surroundings,
): Tracing | undefined {
  if (file === undefined) return undefined;
  const { endpoint, samplingRatePerMillion } = readConfig(file);
  const exporter = new SpanExporter({
    endpoint,
    resource: keyValues({ "service.name": "apiserver", "service.instance.id": identity }),
    scope: { name: "k8ts/apiserver", version: "" },
    clock,
    logger,
  });
  const tracer = new Tracer({ samplingRatePerMillion, clock, random, exporter });
  return { tracer, close: () => exporter.close() };
}

function readConfig(file: string) {
  try {
    return parseTracingConfig(readFileSync(file, "utf8"));
  } catch (error) {
    const missing = codeOf(error) === "ENOENT";
    throw new FlagError(missing ? `tracing-config-file ${file} does not exist` : messageOf(error));
  }
}
