/**
 * Reads KubeletConfiguration (kubelet.config.k8s.io/v1beta1): a file and the drop-in files of a
 * folder, which are laid over it in the order of their names. Like upstream, a value of a wrong type
 * is an error and an unknown field a warning.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "js-yaml";
import { parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isFeature } from "#apiserver/metrics/feature-metrics.ts";
import { listFolder } from "#host/files.ts";
import { DEFAULT_KUBELET_CONFIG, type KubeletConfig } from "#kubelet/kubelet-config.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import { FlagError } from "../flags/parse-flags.ts";
import {
  CONFIGURATION_FIELDS,
  type Field,
  type Fields,
  type ScalarType,
  SILENT,
} from "./configuration-fields.ts";

export interface ReadConfiguration {
  readonly values: Partial<KubeletConfig>;
  readonly warnings: readonly string[];
  /** Fields that were given and change nothing. */
  readonly withoutEffect: readonly string[];
}

/** `dropIns`: a folder; only names that end in `.conf` are read. */
export async function readKubeletConfiguration(
  file: string,
  dropIns: string,
): Promise<ReadConfiguration> {
  const names =
    dropIns === "" ? [] : (await listFolder(dropIns)).filter((one) => one.endsWith(".conf"));
  const paths = [...names].sort().map((name) => join(dropIns, name));
  let values: Partial<KubeletConfig> = {};
  const warnings: string[] = [];
  const ineffective = new Set<string>();
  for (const path of file === "" ? paths : [file, ...paths]) {
    try {
      const read = valuesOf(await readDocument(path));
      values = { ...values, ...read.values };
      warnings.push(...read.warnings);
      for (const name of read.withoutEffect) ineffective.add(name);
    } catch (error) {
      const kind = path === file ? "Kubelet config" : "drop-in kubelet config";
      throw new FlagError(
        `failed to load kubelet config file, path: ${path}, error: failed to load ${kind} file ${path}, error ${messageOf(error)}`,
      );
    }
  }
  return { values: withDependentDefaults(values), warnings, withoutEffect: [...ineffective] };
}

/** As upstream: a status is reported as often as it is looked at, if only the latter was given. */
function withDependentDefaults(values: Partial<KubeletConfig>): Partial<KubeletConfig> {
  const { nodeStatusUpdateMs, nodeStatusReportMs, mergeDefaultEvictionSettings } = values;
  const isReportDue = nodeStatusUpdateMs !== undefined && nodeStatusReportMs === undefined;
  const { evictionHard: defaults } = DEFAULT_KUBELET_CONFIG;
  return {
    ...values,
    ...(isReportDue ? { nodeStatusReportMs: nodeStatusUpdateMs } : {}),
    ...(mergeDefaultEvictionSettings
      ? { evictionHard: { ...defaults, ...values.evictionHard } }
      : {}),
  };
}

function withoutEffect(document: Record<string, unknown>): string[] {
  return Object.keys(document).filter((name) => {
    const field = Object.hasOwn(CONFIGURATION_FIELDS, name)
      ? CONFIGURATION_FIELDS[name]
      : undefined;
    return field !== undefined && isWithoutEffect(field) && !SILENT.has(name);
  });
}

function isWithoutEffect({ type, sets }: Field): boolean {
  if (typeof type === "string") return sets === undefined;
  return Object.values(type.fields).every(isWithoutEffect);
}

function checkFeatures(gates: unknown): void {
  const names = isRecord(gates) ? Object.keys(gates) : [];
  const unknown = names.find((name) => !isFeature(name));
  if (unknown !== undefined) throw new Error(`unrecognized feature gate: ${unknown}`);
}

async function readDocument(path: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const why =
      codeOf(error) === "ENOENT" ? `open ${path}: no such file or directory` : messageOf(error);
    throw new Error(`failed to read kubelet config file ${goQuote(path)}, error: ${why}`);
  }
  const document: unknown = load(text);
  const { apiVersion, kind } = isRecord(document) ? document : {};
  if (!isRecord(document) || apiVersion === undefined) {
    throw new Error(`failed to decode: Object 'apiVersion' is missing in '${text}'`);
  }
  if (kind === undefined)
    throw new Error(`failed to decode: Object 'Kind' is missing in '${text}'`);
  if (kind !== "KubeletConfiguration" || apiVersion !== "kubelet.config.k8s.io/v1beta1") {
    throw new Error(
      `failed to decode: no kind ${goQuote(String(kind))} is registered for version ${goQuote(String(apiVersion))} in scheme "pkg/kubelet/apis/config/scheme/scheme.go:33"`,
    );
  }
  return document;
}

function valuesOf(document: Record<string, unknown>): ReadConfiguration {
  const values: Record<string, unknown> = {};
  const unknown = unknownFields(document, CONFIGURATION_FIELDS, "");
  readFields(document, CONFIGURATION_FIELDS, "", values);
  checkFeatures(document.featureGates);
  const fields = unknown.sort().map((name) => `unknown field ${goQuote(name)}`);
  return {
    values: values as Partial<KubeletConfig>,
    warnings: fields.length === 0 ? [] : [`strict decoding error: ${fields.join(", ")}`],
    withoutEffect: withoutEffect(document),
  };
}

function readFields(
  document: Record<string, unknown>,
  fields: Fields,
  prefix: string,
  into: Record<string, unknown>,
): void {
  for (const [name, { type, sets }] of Object.entries(fields)) {
    const given = document[name];
    if (given === undefined || given === null) continue;
    const path = `${prefix}${name}`;
    if (typeof type === "string") {
      const value = checkedValue(given, type, path);
      if (sets !== undefined) into[sets] = value;
    } else if (isRecord(given)) readFields(given, type.fields, `${path}.`, into);
    else throw wrongType(given, path, "struct");
  }
}

function unknownFields(
  document: Record<string, unknown>,
  fields: Fields,
  prefix: string,
): string[] {
  return Object.entries(document).flatMap(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) return [`${prefix}${name}`];
    if (typeof field.type === "string" || !isRecord(value)) return [];
    return unknownFields(value, field.type.fields, `${prefix}${name}.`);
  });
}

function checkedValue(value: unknown, type: ScalarType, name: string): unknown {
  switch (type) {
    case "any":
      return value;
    case "duration":
      return durationMs(value, name);
    case "string":
    case "bool":
      if (typeof value === (type === "bool" ? "boolean" : "string")) return value;
      throw wrongType(value, name, type);
    case "int32":
    case "int64":
    case "float64":
      if (typeof value === "number" && (type === "float64" || Number.isInteger(value)))
        return value;
      throw wrongType(value, name, type);
    case "strings":
      if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
      throw wrongType(value, name, "[]string");
    case "map":
      if (isRecord(value)) return value;
      throw wrongType(value, name, "map[string]string");
  }
}

function durationMs(value: unknown, name: string): number {
  if (typeof value !== "string") throw wrongType(value, name, "string");
  const parsed = parseDuration(value);
  if (!parsed.ok) throw new Error(`failed to decode: ${parsed.error}`);
  return Number(parsed.nanos / 1_000_000n);
}

function wrongType(value: unknown, name: string, goType: string): Error {
  const is = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new Error(
    `failed to decode: json: cannot unmarshal ${is} into Go struct field KubeletConfiguration.${name} of type ${goType}`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
