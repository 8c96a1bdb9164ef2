/**
 * Reads KubeletConfiguration (kubelet.config.k8s.io/v1beta1): a file and the drop-in files of a
 * folder, which are laid over it in the order of their names.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "js-yaml";
import type { Taint } from "#api/generated/core.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import { listFolder } from "#host/files.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { messageOf } from "#lib/caught.ts";
import { FlagError } from "../flags/parse-flags.ts";

/** The fields that this kubelet acts on. */
interface KubeletConfiguration {
  readonly staticPodPath?: string;
  readonly fileCheckFrequency?: string;
  readonly port?: number;
  readonly clusterDNS?: readonly string[];
  readonly clusterDomain?: string;
  readonly resolvConf?: string;
  readonly maxPods?: number;
  readonly cgroupRoot?: string;
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionPeriod?: string;
  readonly nodeLeaseDurationSeconds?: number;
  readonly registerWithTaints?: readonly Taint[];
  readonly registerNode?: boolean;
  readonly providerID?: string;
  readonly podLogsDir?: string;
  readonly seccompDefault?: boolean;
  readonly containerRuntimeEndpoint?: string;
  readonly imageServiceEndpoint?: string;
}

type Values = { -readonly [Field in keyof KubeletConfig]?: KubeletConfig[Field] };

export async function readKubeletConfiguration(file: string, dropIns: string): Promise<Values> {
  let values: Values = file === "" ? {} : valuesOf(await readDocument(file), file);
  const names =
    dropIns === "" ? [] : (await listFolder(dropIns)).filter((one) => one.endsWith(".conf"));
  for (const name of [...names].sort()) {
    const path = join(dropIns, name);
    values = { ...values, ...valuesOf(await readDocument(path), path) };
  }
  return values;
}

async function readDocument(path: string): Promise<KubeletConfiguration> {
  const fail = (why: string): never => {
    throw new FlagError(`failed to load kubelet config file, path: ${path}, error: ${why}`);
  };
  try {
    const document: unknown = load(await readFile(path, "utf8"));
    if (typeof document !== "object" || document === null) return fail("it is no object");
    const { apiVersion, kind } = document as { apiVersion?: unknown; kind?: unknown };
    if (kind !== "KubeletConfiguration" || apiVersion !== "kubelet.config.k8s.io/v1beta1") {
      return fail(`no kind "${String(kind)}" is registered for version "${String(apiVersion)}"`);
    }
    return document as KubeletConfiguration;
  } catch (error) {
    if (error instanceof FlagError) throw error;
    return fail(messageOf(error));
  }
}

function valuesOf(from: KubeletConfiguration, path: string): Values {
  const milliseconds = (name: string, text: string): number => {
    const parsed = parseDuration(text);
    if (!parsed.ok) throw new FlagError(`${path}: ${name}: ${parsed.error}`);
    return Number(parsed.nanos / 1_000_000n);
  };
  const values: Values = {};
  const take = <Field extends keyof Values>(
    field: Field,
    value: Values[Field] | undefined,
  ): void => {
    if (value !== undefined) values[field] = value;
  };
  take("staticPodPath", from.staticPodPath);
  take("port", from.port);
  take("clusterDns", from.clusterDNS);
  take("clusterDomain", from.clusterDomain);
  take("resolvConf", from.resolvConf);
  take("maxPods", from.maxPods);
  take("cgroupRoot", from.cgroupRoot);
  take("systemReserved", from.systemReserved);
  take("kubeReserved", from.kubeReserved);
  take("evictionHard", from.evictionHard);
  take("leaseDurationSeconds", from.nodeLeaseDurationSeconds);
  take("taints", from.registerWithTaints);
  take("registerNode", from.registerNode);
  take("providerId", from.providerID);
  take("podLogsDir", from.podLogsDir);
  take("seccompDefault", from.seccompDefault);
  take("runtimeEndpoint", from.containerRuntimeEndpoint);
  take("imageEndpoint", from.imageServiceEndpoint);
  if (from.fileCheckFrequency) {
    values.fileCheckMs = milliseconds("fileCheckFrequency", from.fileCheckFrequency);
  }
  if (from.evictionPressureTransitionPeriod) {
    values.evictionPressureTransitionMs = milliseconds(
      "evictionPressureTransitionPeriod",
      from.evictionPressureTransitionPeriod,
    );
  }
  return values;
}
