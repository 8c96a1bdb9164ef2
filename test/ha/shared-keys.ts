/** Keys that several API servers share, ours or upstream's: made before any of them starts. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { ClusterPki, type PkiMaterial, servingNames } from "#pki/cluster-pki.ts";

/** Files lie in `folder/pki`, kubeconfigs in `folder`. */
export function makeSharedKeys(
  folder: string,
  addresses: readonly string[],
  port: number,
): PkiMaterial {
  mkdirSync(folder, { recursive: true });
  return ClusterPki.open({
    directory: folder,
    servingNames: servingNames("cluster.local", "", [...addresses, "10.96.0.1"]),
    serverUrl: `https://${addresses[0]}:${port}`,
    ...{ clock: systemClock, logger: silentLogger },
  }).material;
}

/** The flags of kube-apiserver that name these files; ours finds them in its data directory. */
export function keyFlags(folder: string): string[] {
  const pki = (name: string): string => join(folder, "pki", name);
  return [
    ...[`--client-ca-file=${pki("ca.crt")}`, `--tls-cert-file=${pki("apiserver.crt")}`],
    `--tls-private-key-file=${pki("apiserver.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${pki("sa.pub")}`,
    `--service-account-signing-key-file=${pki("sa.key")}`,
    `--requestheader-client-ca-file=${pki("front-proxy-ca.crt")}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${pki("front-proxy-client.crt")}`,
    `--proxy-client-key-file=${pki("front-proxy-client.key")}`,
  ];
}
