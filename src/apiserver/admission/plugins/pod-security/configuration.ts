/** PodSecurityConfiguration of the admission configuration file: defaults and exemptions. */
import { aggregateText } from "../../../config/aggregate-text.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfigPart,
  listOf,
  STRING,
  struct,
} from "../../../config/config-file.ts";
import { type LevelVersion, type PodSecurityPolicy, parseLevel, parseVersion } from "./policy.ts";

export interface PodSecurityConfiguration {
  readonly defaults: PodSecurityPolicy;
  readonly exemptions: Exemptions;
}

interface Exemptions {
  readonly usernames: readonly string[];
  readonly namespaces: readonly string[];
  readonly runtimeClasses: readonly string[];
}

interface Given {
  readonly defaults?: Readonly<Record<string, string>>;
  readonly exemptions?: Partial<Exemptions>;
}

const MODES = ["enforce", "audit", "warn"] as const;

const POD_SECURITY_CONFIGURATION: ConfigKind = {
  kind: "PodSecurityConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map(
    (version) => `pod-security.admission.config.k8s.io/${version}`,
  ),
  schema: configSchema("v1.PodSecurityConfiguration", {
    defaults: struct(
      "v1.PodSecurityDefaults",
      Object.fromEntries(
        MODES.flatMap((mode) => [mode, `${mode}-version`]).map((name) => [name, STRING]),
      ),
    ),
    exemptions: struct("v1.PodSecurityExemptions", {
      usernames: listOf(STRING),
      namespaces: listOf(STRING),
      runtimeClasses: listOf(STRING),
    }),
  }),
};

/** Throws when the document is none. */
export function readPodSecurityConfiguration(document: unknown): PodSecurityConfiguration {
  const { defaults = {}, exemptions = {} } =
    document === undefined ? {} : (decodeConfigPart(document, POD_SECURITY_CONFIGURATION) as Given);
  const faults: string[] = [];
  const read = (mode: (typeof MODES)[number]): LevelVersion => {
    const level = parseLevel(defaults[mode] ?? "privileged");
    const version = parseVersion(defaults[`${mode}-version`] ?? "latest");
    if (level === undefined)
      faults.push(`${mode}: must be one of privileged, baseline, restricted`);
    if (version === undefined) faults.push(`${mode}-version: must be "latest" or "v1.x"`);
    return { level: level ?? "restricted", version: version ?? "latest" };
  };
  const policy = { enforce: read("enforce"), audit: read("audit"), warn: read("warn") };
  if (faults.length > 0) {
    throw new Error(`PodSecurity configuration error: ${aggregateText(faults)}`);
  }
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions;
  return { defaults: policy, exemptions: { usernames, namespaces, runtimeClasses } };
}
