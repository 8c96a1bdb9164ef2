/**
 * The file of `--encryption-provider-config`: which resources are encrypted, by which providers. It is
 * read strictly and validated in upstream's words; secrets never appear in a message.
 */
import { formatDuration, parseDuration } from "#api/meta/duration.ts";
import { type FieldError, invalid, OMITTED, required } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { parseGoUrl } from "#api/validation/go-url.ts";
import { Path } from "#api/validation/path.ts";
import {
  type ConfigKind,
  configSchema,
  DURATION,
  decodeConfig,
  INT32,
  listOf,
  STRING,
  struct,
} from "../config/config-file.ts";
import { resourceFaults } from "./group-resource.ts";

export interface EncryptionConfig {
  readonly resources: readonly ResourceRule[];
}

export interface ResourceRule {
  readonly resources: readonly string[];
  readonly providers: readonly ProviderConfig[];
}

/** Exactly one of them, once it is validated. */
export interface ProviderConfig {
  readonly aesgcm?: KeysConfig;
  readonly aescbc?: KeysConfig;
  readonly secretbox?: KeysConfig;
  readonly identity?: object;
  readonly kms?: KmsConfig;
}

export interface KeysConfig {
  readonly keys?: readonly NamedKey[];
}

export interface NamedKey {
  readonly name?: string;
  /** Base64. */
  readonly secret?: string;
}

export interface KmsConfig {
  readonly apiVersion?: string;
  readonly name?: string;
  readonly cachesize?: number;
  readonly endpoint?: string;
  readonly timeout?: string;
}

const KEY = struct("v1.Key", { name: STRING, secret: STRING });
const AES = struct("v1.AESConfiguration", { keys: listOf(KEY) });

const ENCRYPTION_CONFIGURATION: ConfigKind = {
  kind: "EncryptionConfiguration",
  apiVersions: ["apiserver.config.k8s.io/v1"],
  schema: configSchema("v1.EncryptionConfiguration", {
    resources: listOf(
      struct("v1.ResourceConfiguration", {
        resources: listOf(STRING),
        providers: listOf(
          struct("v1.ProviderConfiguration", {
            aesgcm: { optional: AES },
            aescbc: { optional: AES },
            secretbox: { optional: struct("v1.SecretboxConfiguration", { keys: listOf(KEY) }) },
            identity: { optional: struct("v1.IdentityConfiguration", {}) },
            kms: {
              optional: struct("v1.KMSConfiguration", {
                apiVersion: STRING,
                name: STRING,
                cachesize: { optional: INT32 },
                endpoint: STRING,
                timeout: { optional: DURATION },
              }),
            },
          }),
        ),
      }),
    ),
  }),
};

const TIMEOUT_DEFAULT = "3s";

/** Throws, naming every fault. `reload`: names of KMS providers must be unique. */
export function readEncryptionConfig(text: string, reload: boolean): EncryptionConfig {
  const decoded = decodeConfig(text, ENCRYPTION_CONFIGURATION) as Partial<EncryptionConfig>;
  const config = { resources: (decoded.resources ?? []).map(withDefaults) };
  const faults = faultsOf(config, reload);
  if (faults.length > 0) throw new Error(formatFieldErrors(faults));
  return config;
}

/** Milliseconds that a call of the plugin may take. */
export function kmsTimeoutMs({ timeout = TIMEOUT_DEFAULT }: KmsConfig): number {
  const parsed = parseDuration(timeout);
  return parsed.ok ? Number(parsed.nanos) / 1e6 : 0;
}

/** The path of the plugin's socket, as Go takes it from the URL. */
export function kmsSocket({ endpoint = "" }: KmsConfig): string {
  const path = endpoint.replace(/^unix:(\/\/[^/]*)?/i, "");
  return path.startsWith("/@") ? path.slice(1) : path;
}

function withDefaults({ resources = [], providers = [] }: Partial<ResourceRule>): ResourceRule {
  return {
    resources,
    providers: providers.map((provider) => {
      const { kms } = provider;
      if (kms === undefined) return provider;
      const apiVersion = kms.apiVersion || "v1";
      return { ...provider, kms: { ...kms, apiVersion, timeout: kms.timeout ?? TIMEOUT_DEFAULT } };
    }),
  };
}

const AES_KEY_BYTES = [16, 24, 32];
const SECRETBOX_KEY_BYTES = [32];

function faultsOf({ resources }: EncryptionConfig, reload: boolean): FieldError[] {
  const root = Path.of("resources");
  if (resources.length === 0) return [required(root, "at least one resources is required")];
  const kmsNames = new Set<string>();
  return resources.flatMap((rule, at) => {
    const [inResources, inProviders] = [
      root.index(at).child("resources"),
      root.index(at).child("providers"),
    ];
    const atLeastOne = (path: Path): FieldError =>
      required(path, `at least one ${path} is required`);
    return [
      ...(rule.resources.length === 0 ? [atLeastOne(inResources)] : []),
      ...resourceFaults(rule.resources, inResources),
      ...(rule.providers.length === 0 ? [atLeastOne(inProviders)] : []),
      ...rule.providers.flatMap((provider, i) =>
        providerFaults(provider, inProviders.index(i), kmsNames, reload),
      ),
    ];
  });
}

function providerFaults(
  provider: ProviderConfig,
  path: Path,
  kmsNames: Set<string>,
  reload: boolean,
): FieldError[] {
  const { kms, aesgcm, aescbc, secretbox, identity } = provider;
  const given = [kms, aesgcm, aescbc, secretbox, identity].filter((one) => one !== undefined);
  if (given.length === 0) return [invalid(path, OMITTED, NO_PROVIDER)];
  const faults = given.length > 1 ? [invalid(path, OMITTED, SEVERAL_PROVIDERS)] : [];
  const keys = (config: KeysConfig, name: string, bytes: readonly number[]): FieldError[] =>
    keyFaults(config.keys ?? [], path.child(name).child("keys"), bytes);
  if (kms !== undefined) {
    faults.push(...kmsFaults(kms, path.child("kms"), kmsNames, reload));
    kmsNames.add(kms.name ?? "");
  } else if (aesgcm !== undefined) faults.push(...keys(aesgcm, "aesgcm", AES_KEY_BYTES));
  else if (aescbc !== undefined) faults.push(...keys(aescbc, "aescbc", AES_KEY_BYTES));
  else if (secretbox !== undefined) {
    faults.push(...keys(secretbox, "secretbox", SECRETBOX_KEY_BYTES));
  }
  return faults;
}

const NO_PROVIDER =
  "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
const SEVERAL_PROVIDERS =
  "more than one provider specified in a single element, should split into different list elements";

function keyFaults(
  keys: readonly NamedKey[],
  path: Path,
  expectedBytes: readonly number[],
): FieldError[] {
  if (keys.length === 0) return [required(path, "at least one keys is required")];
  return keys.flatMap(({ name = "", secret = "" }, at) => {
    const faults: FieldError[] = [];
    const mandatory = (field: string): FieldError =>
      required(path.index(at).child(field), `${field} is a mandatory field for a key`);
    if (name === "") faults.push(mandatory("name"));
    if (secret === "") return [...faults, mandatory("secret")];
    const inSecret = path.index(at).child("secret");
    if (!isBase64(secret)) {
      return [...faults, invalid(inSecret, "REDACTED", "secrets must be base64 encoded")];
    }
    const { length } = Buffer.from(secret, "base64");
    if (expectedBytes.includes(length)) return faults;
    const detail = `secret is not of the expected length, got ${length}, expected one of [${expectedBytes.join(" ")}]`;
    return [...faults, invalid(inSecret, "REDACTED", detail)];
  });
}

/** With padding, as Go's StdEncoding wants it; line ends do not count. */
function isBase64(text: string): boolean {
  const bare = text.replace(/[\r\n]/g, "");
  return bare.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(bare);
}

function kmsFaults(
  kms: KmsConfig,
  path: Path,
  kmsNames: ReadonlySet<string>,
  reload: boolean,
): FieldError[] {
  const { name = "", apiVersion = "", endpoint = "", cachesize, timeout = TIMEOUT_DEFAULT } = kms;
  const faults: FieldError[] = [];
  const inName = path.child("name");
  if (name === "") faults.push(required(inName, "name is a mandatory field for a provider"));
  if (apiVersion !== "v1" && name.includes(":")) {
    faults.push(invalid(inName, name, `invalid KMS provider name ${name}, must not contain ':'`));
  }
  if ((reload || apiVersion !== "v1") && kmsNames.has(name)) {
    const detail = `duplicate KMS provider name ${name}, names must be unique`;
    faults.push(invalid(inName, name, detail));
  }
  const parsed = parseDuration(timeout);
  if (!parsed.ok || parsed.nanos <= 0n) {
    const shown = parsed.ok ? formatDuration(parsed.nanos) : timeout;
    faults.push(invalid(path.child("timeout"), shown, "timeout should be a positive value"));
  }
  faults.push(...endpointFaults(endpoint, path.child("endpoint")));
  const inSize = path.child("cachesize");
  if (apiVersion !== "v1" && cachesize !== undefined) {
    faults.push(invalid(inSize, cachesize, "cachesize is not supported in v2"));
  } else if (apiVersion === "v1" && cachesize === 0) {
    const detail = "cachesize should be a positive value, or negative to disable";
    faults.push(invalid(inSize, cachesize, detail));
  }
  if (apiVersion !== "v1" && apiVersion !== "v2") {
    const detail =
      "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
    faults.push(invalid(path.child("apiVersion"), apiVersion, detail));
  }
  return faults;
}

function endpointFaults(endpoint: string, path: Path): FieldError[] {
  if (endpoint === "") return [invalid(path, "", "endpoint is a mandatory field for a kms")];
  const parsed = parseGoUrl(endpoint);
  if (!parsed.ok) {
    const detail = `invalid endpoint for kms provider, error: ${parsed.fault}`;
    return [invalid(path, endpoint, detail)];
  }
  const { scheme } = parsed.url;
  if (scheme === "unix") return [];
  const detail = `unsupported scheme "${scheme}" for KMS provider, only unix is supported`;
  return [invalid(path, endpoint, detail)];
}
