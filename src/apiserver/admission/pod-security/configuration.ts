/** What PodSecurity is told by the admission configuration file: defaults, and who is exempt. */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
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

/** Throws when the document is none. */
export function readPodSecurityConfiguration(document: unknown): PodSecurityConfiguration {
  const { defaults = {}, exemptions = {} } = (document ?? {}) as Given;
  const faults: FieldError[] = [];
  const read = (mode: string): LevelVersion => {
    const [level = "privileged", version = "latest"] = [
      defaults[mode],
      defaults[`${mode}-version`],
    ];
    const at = Path.of("defaults");
    const known = { level: parseLevel(level), version: parseVersion(version) };
    if (known.level === undefined) {
      const detail = "must be one of privileged, baseline, restricted";
      faults.push(invalid(at.child(mode), level, detail));
    }
    if (known.version === undefined) {
      const detail = 'must be "latest" or "v1.x"';
      faults.push(invalid(at.child(`${mode}-version`), version, detail));
    }
    return { level: known.level ?? "restricted", version: known.version ?? "latest" };
  };
  const policy = { enforce: read("enforce"), audit: read("audit"), warn: read("warn") };
  if (faults.length > 0) throw new Error(`PodSecurity: ${formatFieldErrors(faults)}`);
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions;
  return { defaults: policy, exemptions: { usernames, namespaces, runtimeClasses } };
}
