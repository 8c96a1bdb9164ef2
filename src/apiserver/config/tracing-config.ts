/** The file of `--tracing-config-file`: which collector is sent traces, and of how many requests. */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { messageOf } from "#lib/caught.ts";
import { type ConfigKind, configSchema, decodeConfig, INT32, STRING } from "./config-file.ts";

const TRACING_CONFIGURATION: ConfigKind = {
  kind: "TracingConfiguration",
  apiVersions: ["apiserver.k8s.io/v1", "apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1"],
  schema: configSchema("v1.TracingConfiguration", {
    endpoint: { optional: STRING },
    samplingRatePerMillion: { optional: INT32 },
  }),
};

const DEFAULT_ENDPOINT = "localhost:4317";
const RATE_MAX = 1_000_000;

export interface TracingConfig {
  /** As gRPC clients take it: `host:port`, or `unix:` and a path. */
  readonly endpoint: string;
  readonly samplingRatePerMillion: number;
}

interface Given {
  readonly endpoint?: string;
  readonly samplingRatePerMillion?: number;
}

/** Throws, naming every fault in upstream's words. */
export function parseTracingConfig(text: string): TracingConfig {
  const { endpoint, samplingRatePerMillion = 0 } = decode(text);
  const faults = [
    ...rateFaults(samplingRatePerMillion),
    ...(endpoint === undefined ? [] : endpointFaults(endpoint)),
  ];
  if (faults.length > 0) {
    throw new Error(`failed to validate tracing configuration: ${formatFieldErrors(faults)}`);
  }
  return { endpoint: targetOf(endpoint ?? DEFAULT_ENDPOINT), samplingRatePerMillion };
}

function decode(text: string): Given {
  try {
    return decodeConfig(text, TRACING_CONFIGURATION) as Given;
  } catch (error) {
    const why = `unable to decode tracing configuration data: ${messageOf(error)}`;
    throw new Error(`failed to read tracing config: ${why}`);
  }
}

function rateFaults(rate: number): FieldError[] {
  const place = Path.of("samplingRatePerMillion");
  if (rate < 0) return [invalid(place, rate, "sampling rate must be positive")];
  const why = "sampling rate per million must be less than or equal to one million";
  return rate > RATE_MAX ? [invalid(place, rate, why)] : [];
}

function endpointFaults(endpoint: string): FieldError[] {
  const place = Path.of("endpoint");
  const url = endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase() ?? "";
  if (!["dns", "unix", "unix-abstract"].includes(scheme)) {
    const options =
      "Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md";
    return [invalid(place, url, `unsupported scheme: ${scheme}.  ${options}`)];
  }
  if (scheme !== "dns" || /:\d+$/.test(endpoint)) return [];
  return [invalid(place, endpoint, "must be HOST:PORT")];
}

function targetOf(endpoint: string): string {
  const abstract = /^unix-abstract:(?:\/\/)?(.+)$/s.exec(endpoint)?.[1];
  if (abstract !== undefined) return `unix:\0${abstract}`;
  return endpoint.replace(/^dns:\/\/[^/]*\//, "");
}
