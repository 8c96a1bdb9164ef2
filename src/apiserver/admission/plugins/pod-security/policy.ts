/** Which pods a namespace lets in: by labels, one level and version each for refusing, logging and warning. */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";

export type Level = "privileged" | "baseline" | "restricted";
/** The minor version of Kubernetes whose rules count. */
export type PolicyVersion = number | "latest";

export interface LevelVersion {
  readonly level: Level;
  readonly version: PolicyVersion;
}

export interface PodSecurityPolicy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

type Labels = Readonly<Record<string, string>>;

const PREFIX = "pod-security.kubernetes.io/";
const LEVELS: readonly Level[] = ["privileged", "baseline", "restricted"];
const OPEN: LevelVersion = { level: "privileged", version: "latest" };
const NO_POLICY: PodSecurityPolicy = { enforce: OPEN, audit: OPEN, warn: OPEN };

interface Parsed {
  readonly policy: PodSecurityPolicy;
  readonly faults: readonly FieldError[];
}

/**
 * Always a policy that can be carried out. A label that cannot be read makes enforcing strict, and
 * logging and warning silent.
 */
export function policyOf(labels: Labels = {}, defaults: PodSecurityPolicy = NO_POLICY): Parsed {
  if (!Object.keys(labels).some((key) => key.startsWith(PREFIX))) {
    return { policy: defaults, faults: [] };
  }
  const faults: FieldError[] = [];
  const read = (mode: keyof PodSecurityPolicy, otherwise: Level): LevelVersion => {
    const level = readLevel(labels, mode, otherwise, defaults[mode].level, faults);
    return { level, version: readVersion(labels, mode, defaults[mode].version, faults) };
  };
  const enforce = read("enforce", "restricted");
  const audit = read("audit", "privileged");
  let warn = read("warn", "privileged");
  // Without a warn label the enforced level is also the warn level, so that workload controllers get warnings.
  const enforced = LEVELS.includes((labels[`${PREFIX}enforce`] ?? "") as Level);
  if (labels[`${PREFIX}warn`] === undefined && enforced && isStricter(enforce.level, warn.level)) {
    const ownVersion = labels[`${PREFIX}warn-version`] !== undefined;
    warn = { level: enforce.level, version: ownVersion ? warn.version : enforce.version };
  }
  return { policy: { enforce, audit, warn }, faults };
}

export function isStricter(a: Level, b: Level): boolean {
  return LEVELS.indexOf(a) > LEVELS.indexOf(b);
}

export function sameLevel(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version === b.version;
}

/** `restricted:latest`, `baseline:v1.25`. */
export function levelText({ level, version }: LevelVersion): string {
  return `${level}:${version === "latest" ? version : `v1.${version}`}`;
}

function readLevel(
  labels: Labels,
  mode: string,
  otherwise: Level,
  unless: Level,
  faults: FieldError[],
): Level {
  const label = `${PREFIX}${mode}`;
  const value = labels[label];
  if (value === undefined) return unless;
  const level = parseLevel(value);
  if (level !== undefined) return level;
  faults.push(labelFault(label, value, `must be one of ${LEVELS.join(", ")}`));
  return otherwise;
}

function readVersion(
  labels: Labels,
  mode: string,
  unless: PolicyVersion,
  faults: FieldError[],
): PolicyVersion {
  const label = `${PREFIX}${mode}-version`;
  const value = labels[label];
  if (value === undefined) return unless;
  const version = parseVersion(value);
  if (version !== undefined) return version;
  faults.push(labelFault(label, value, 'must be "latest" or "v1.x"'));
  return "latest";
}

export function parseLevel(text: string): Level | undefined {
  return LEVELS.find((level) => level === text);
}

export function parseVersion(text: string): PolicyVersion | undefined {
  if (text === "latest") return text;
  const minor = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

function labelFault(label: string, value: string, detail: string): FieldError {
  return invalid(Path.of("metadata", "labels").key(label), value, detail);
}
