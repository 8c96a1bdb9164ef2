/** The certificates of ClusterTrustBundles as one PEM text. Pure. */
import { parsePem, toPem } from "#lib/der/pem.ts";

/**
 * Every certificate once, without headers and text between blocks, in the order of their digests. With
 * a salt in the digest the order stays while a kubelet lives, and programs do not come to rely on it.
 */
export function normalizeTrustAnchors(
  bundles: readonly string[],
  digest: (bytes: Uint8Array) => string,
): string {
  const anchors = new Map<string, Buffer>();
  for (const { bytes } of bundles.flatMap(parsePem)) {
    anchors.set(digest(bytes), Buffer.from(bytes));
  }
  const keys = [...anchors.keys()].sort();
  return keys.map((key) => toPem("CERTIFICATE", anchors.get(key)!)).join("");
}
