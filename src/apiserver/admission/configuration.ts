/** The file of `--admission-control-config-file`: what single plug-ins are told. */

/** By plug-in; what a plug-in does not find is its default. */
export type PluginConfigurations = Readonly<Record<string, unknown>>;

interface ConfigFile {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly plugins?: readonly {
    readonly name: string;
    readonly path?: string;
    readonly configuration?: unknown;
  }[];
}

const API_VERSIONS = [
  "apiserver.config.k8s.io/v1",
  "apiserver.k8s.io/v1",
  "apiserver.k8s.io/v1alpha1",
];

/** Throws when the document is none. `readDocument`: a file that the document names. */
export function readPluginConfigurations(
  document: unknown,
  file: string,
  readDocument: (path: string) => unknown,
): PluginConfigurations {
  const config = (document ?? {}) as ConfigFile;
  if (config.kind !== "AdmissionConfiguration" || !API_VERSIONS.includes(config.apiVersion ?? "")) {
    throw new Error(
      `${file} must be of kind AdmissionConfiguration in one of ${API_VERSIONS.join(", ")}`,
    );
  }
  return Object.fromEntries(
    (config.plugins ?? []).map(({ name, path = "", configuration }) => [
      name,
      configuration ?? (path === "" ? undefined : readDocument(path)),
    ]),
  );
}
