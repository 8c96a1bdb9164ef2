/** The file of `--admission-control-config-file`: configuration of individual plug-ins. */
import { messageOf } from "#lib/caught.ts";
import {
  ANY_CONFIG,
  type ConfigKind,
  configSchema,
  decodeConfig,
  listOf,
  STRING,
  struct,
} from "../config/config-file.ts";

/** By plug-in; what a plug-in does not find is its default. */
export type PluginConfigurations = Readonly<Record<string, unknown>>;

interface ConfigFile {
  readonly plugins?: readonly {
    readonly name?: string;
    readonly path?: string;
    readonly configuration?: unknown;
  }[];
}

const ADMISSION_CONFIGURATION: ConfigKind = {
  kind: "AdmissionConfiguration",
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1", "apiserver.k8s.io/v1alpha1"],
  schema: configSchema("v1.AdmissionConfiguration", {
    plugins: listOf(
      struct("v1.AdmissionPluginConfiguration", {
        name: STRING,
        path: STRING,
        configuration: { optional: ANY_CONFIG },
      }),
    ),
  }),
};

/** Throws when the text is none. `readDocument`: a file that it names. */
export function readPluginConfigurations(
  text: string,
  readDocument: (path: string) => unknown,
): PluginConfigurations {
  let config: ConfigFile;
  try {
    config = decodeConfig(text, ADMISSION_CONFIGURATION) as ConfigFile;
  } catch (error) {
    throw new Error(`failed to read plugin config: ${messageOf(error)}`);
  }
  return Object.fromEntries(
    (config.plugins ?? []).map(({ name = "", path = "", configuration }) => [
      name,
      configuration ?? (path === "" ? undefined : readDocument(path)),
    ]),
  );
}
