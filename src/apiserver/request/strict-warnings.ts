/** One warning for each strict decoding error: the YAML decoder reports all of its errors in one text. */
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
