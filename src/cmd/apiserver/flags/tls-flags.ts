/** What --tls-min-version, --tls-cipher-suites and --tls-curve-preferences say, in the words of Node's TLS. */
import { getCiphers } from "node:tls";
import { integer, list } from "../../flags/flag-values.ts";
import { badValue, FlagError } from "../../flags/parse-flags.ts";

export type TlsVersion = "TLSv1.2" | "TLSv1.3";

const VERSIONS: Readonly<Record<string, TlsVersion>> = {
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};

/** Undefined if none was given; throws FlagError for one that is not spoken. */
export function tlsVersionOf(name: string): TlsVersion | undefined {
  if (name === "") return undefined;
  if (/^VersionTLS1[01]$/.test(name)) {
    throw new FlagError(
      `--tls-min-version cannot be "${name}": TLS 1.2 is the oldest that is spoken`,
    );
  }
  const version = VERSIONS[name];
  if (version === undefined) throw new FlagError(`unknown tls version "${name}"`);
  return version;
}

export function unknownCiphers(names: readonly string[]): string[] {
  const known = new Set(getCiphers());
  return names.filter((name) => !known.has(opensslName(name).toLowerCase()));
}

/** OpenSSL's names of curves, by their numbers in TLS. */
const CURVES: Readonly<Record<string, string>> = {
  "23": "P-256",
  "24": "P-384",
  "25": "P-521",
  "29": "X25519",
};
const CURVE_MAX = 65_535;

/** Reads --tls-curve-preferences: numbers, as upstream takes them. */
export function curves(value: string, before: readonly string[]): string[] {
  const names = [...before];
  for (const id of list(value).map(integer)) {
    if (id < 1 || id > CURVE_MAX) {
      throw badValue(`curve preference ${id} is out of range (must be 1-${CURVE_MAX})`);
    }
    const name = CURVES[String(id)];
    if (name === undefined) throw badValue(`curve preference ${id} is not supported by Node`);
    if (names.includes(name)) throw badValue(`duplicate curve preference ${id}`);
    names.push(name);
  }
  return names;
}

export function tlsLimitsOf(flags: {
  readonly tlsMinVersion: TlsVersion | undefined;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly string[];
}): { readonly minVersion?: TlsVersion; readonly ciphers?: string; readonly ecdhCurve?: string } {
  const { tlsMinVersion, tlsCipherSuites, tlsCurvePreferences } = flags;
  return {
    ...(tlsMinVersion === undefined ? {} : { minVersion: tlsMinVersion }),
    // Those of TLS 1.3 cannot be chosen, in upstream neither.
    ...(tlsCipherSuites.length === 0
      ? {}
      : { ciphers: [...TLS13, ...tlsCipherSuites.map(opensslName)].join(":") }),
    ...(tlsCurvePreferences.length === 0 ? {} : { ecdhCurve: tlsCurvePreferences.join(":") }),
  };
}

const TLS13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` → `ECDHE-RSA-AES128-GCM-SHA256`. */
function opensslName(name: string): string {
  if (TLS13.includes(name)) return name;
  return name
    .replace(/^TLS_/, "")
    .replace(/^RSA_WITH_/, "")
    .replace("_WITH_", "_")
    .replace(/AES_(\d+)/, "AES$1")
    .replace(/_CBC_SHA/, "_SHA")
    .replace(/(CHACHA20_POLY1305)_SHA256$/, "$1")
    .replaceAll("_", "-");
}
