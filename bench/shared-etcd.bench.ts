/**
 * k8ts and upstream's kube-apiserver on one etcd at the same time, with the same keys, as in a live
 * migration (docs/operations.md). Every kind is written by each of the two and read by both, Secrets
 * are encrypted by each with the same keys, and both watch. What is counted is what differs: nothing
 * may. K8TS_KUBE_APISERVER names upstream's program; without it there is nothing to compare with.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEtcd } from "../test/store/etcd-cluster.ts";
import { KUBE_APISERVER, startKubeApiServer } from "./load/kube-apiserver.ts";
import { launcherMs, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";
import { compareEncrypted } from "./shared-etcd/compare-encrypted.ts";
import { compareKinds } from "./shared-etcd/compare-kinds.ts";
import { compareWatches } from "./shared-etcd/compare-watches.ts";
import type { Compared } from "./shared-etcd/compared.ts";

export const name = "shared-etcd";

export async function* run({ progress, signal }: BenchOptions): AsyncIterable<Row> {
  if (KUBE_APISERVER === "") {
    yield { name: "K8TS_KUBE_APISERVER is not set: nothing was compared", value: 0, unit: "" };
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-shared-etcd-"));
  try {
    progress("starting etcd and both servers");
    await launcherMs(); // builds if need be
    const encryption = join(directory, "encryption.json");
    writeFileSync(encryption, JSON.stringify(encryptionConfig()));
    const flags = [`--encryption-provider-config=${encryption}`];
    await using etcd = await startEtcd({ directory: join(directory, "etcd") });
    const keysOf = join(directory, "ours");
    await using ours = await startProgram(
      [
        ...["apiserver", "--etcd-servers", etcd.endpoints.join(",")],
        ...["--disable-admission-plugins", "ServiceAccount", ...flags],
      ],
      keysOf,
    );
    await using theirs = await startKubeApiServer({
      etcdServers: etcd.endpoints,
      keysOf,
      directory: join(directory, "theirs"),
      flags,
    });
    const pair = { ours, theirs };
    for (const compare of [compareKinds, compareEncrypted, compareWatches]) {
      signal.throwIfAborted();
      for await (const compared of compare(pair, progress)) yield rowOf(compared, progress);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function rowOf({ what, count, differences }: Compared, progress: (text: string) => void): Row {
  for (const difference of differences) progress(`DIFFERS: ${difference}`);
  const value = differences.length;
  return { name: what, value, unit: "differ", limit: count, limitName: "compared", target: 0 };
}

/** A provider for each of three resources. */
function encryptionConfig(): object {
  const keys = [{ name: "key1", secret: Buffer.alloc(32, 7).toString("base64") }];
  const rule = (resource: string, provider: string) => ({
    resources: [resource],
    providers: [{ [provider]: { keys } }, { identity: {} }],
  });
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      rule("secrets", "aescbc"),
      rule("configmaps", "secretbox"),
      rule("leases.coordination.k8s.io", "aesgcm"),
    ],
  };
}
