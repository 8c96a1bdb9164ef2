/** The version of this build; `tools/build.ts` puts it in. */
declare global {
  var K8TS_VERSION: string | undefined;
}

export function version(): string {
  return globalThis.K8TS_VERSION ?? "0.0.0-source";
}
