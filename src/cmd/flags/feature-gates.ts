/** --feature-gates: `Name=true,Other=false`, also with `kube:` before each. Unknown names are refused. */
import { isFeature } from "#apiserver/metrics/feature-metrics.ts";
import { FlagError } from "./parse-flags.ts";

/** `value` is what was given, if anything was. */
export function checkFeatureGates(value: unknown): void {
  if (value === undefined || value === true) return;
  const faults = String(value)
    .split(",")
    .map((part) => part.trim().replace(/^kube:/, ""))
    .filter((part) => part !== "")
    .flatMap((part) => faultOf(part));
  if (faults.length === 0) return;
  throw new FlagError(faults.length === 1 ? faults[0]! : `[${faults.join(", ")}]`);
}

/** Features that are off unless a gate turns them on, each with the gate of all features of its stage. */
const SWITCHED: ReadonlyMap<string, string> = new Map([
  ["ClusterTrustBundle", "AllBeta"],
  ["ClusterTrustBundleProjection", "AllBeta"],
  ["GenericWorkload", "AllAlpha"],
  ["PodCertificateRequest", "AllBeta"],
  ["StorageVersionMigrator", "AllBeta"],
]);

export interface FeatureSwitches {
  readonly enabled: readonly string[];
  /** Every gate that was given is one of those that can be switched. */
  readonly areAllKnown: boolean;
}

/** `value` was checked before. */
export function featureSwitches(value: unknown): FeatureSwitches {
  const gates = new Map(
    String(value === true ? "" : (value ?? ""))
      .split(",")
      .map((part) =>
        part
          .trim()
          .replace(/^kube:/, "")
          .split("=", 2),
      )
      .map(([name = "", setting = ""]): [string, boolean] => [name, /^(1|t)/i.test(setting)]),
  );
  const isOn = ([name, stage]: readonly [string, string]): boolean =>
    gates.get(name) ?? gates.get(stage) ?? false;
  return {
    enabled: [...SWITCHED].filter(isOn).map(([name]) => name),
    areAllKnown: [...gates.keys()].every((name) => name === "" || SWITCHED.has(name)),
  };
}

function faultOf(part: string): string[] {
  const [name = "", setting] = part.split("=", 2);
  if (setting === undefined) return [`missing bool value for ${name}`];
  if (!/^(1|t|T|true|TRUE|True|0|f|F|false|FALSE|False)$/.test(setting)) {
    const why = `strconv.ParseBool: parsing ${JSON.stringify(setting)}: invalid syntax`;
    return [`invalid value of ${name}=${setting}, err: ${why}`];
  }
  return isFeature(name) ? [] : [`unrecognized feature gate: ${name}`];
}
