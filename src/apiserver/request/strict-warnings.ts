/** What a strict reader minds, one warning each: YAML tells all its faults in one text. */
const YAML_FAULTS = /^(?:error converting YAML to JSON: )?yaml: unmarshal errors:\n/;

export function strictWarnings(errors: readonly string[]): string[] {
  return errors.flatMap((error) =>
    YAML_FAULTS.test(error)
      ? error
          .replace(YAML_FAULTS, "")
          .split("\n")
          .map((line) => line.trim())
      : [error],
  );
}
