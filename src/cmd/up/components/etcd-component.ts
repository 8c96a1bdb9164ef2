/**
 * The managed etcd member as a component of `k8ts up`. A cluster that had an embedded store before takes
 * its objects along: they are copied into the new etcd once, and the old store is kept aside.
 */
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { etcdClientTls } from "#etcd/etcd-certificates.ts";
import { type RunningMember, startMember } from "#etcd/managed-member.ts";
import { ensurePrograms } from "#host/debian-packages.ts";
import { interfaceAddresses } from "#host/interface-addresses.ts";
import { isLoopback } from "#lib/loopback.ts";
import { ownAddress } from "../../apiserver/own-address.ts";
import { FlagError } from "../../flags/parse-flags.ts";
import { copyStore } from "../../store/copy-store.ts";
import type { ClusterContext, Component } from "../component.ts";
import type { ManagedEtcdFlags, UpFlags } from "../up-flags.ts";

const PROGRAMS = [{ program: "etcd", package: "etcd-server" }];

export function etcdComponent(
  etcd: ManagedEtcdFlags,
  onStarted: (member: RunningMember) => void,
): Component {
  return {
    name: "etcd",
    needs: [],
    run: (cluster, signal) => {
      let member: RunningMember | undefined;
      const starting = start(cluster, etcd, signal).then(async (started) => {
        member = started;
        onStarted(started);
        await takeOverEmbeddedStore(cluster, started, signal);
        return started;
      });
      return {
        ready: starting.then(() => undefined),
        done: starting.then(({ ended }) => ended),
        healthy: async () =>
          (await member?.health()) ?? { well: false, message: "etcd has not started" },
      };
    },
  };
}

/** Where other machines reach the member of this one; loopback while the API server is there only. */
export function memberAddress({ bindAddress, advertiseAddress }: UpFlags["server"]): string {
  if (isLoopback(bindAddress)) return "127.0.0.1";
  return advertiseAddress ?? ownAddress(bindAddress);
}

async function start(
  { flags, hostname, clock, random, logger }: ClusterContext,
  { clientPort, peerPort, extra }: ManagedEtcdFlags,
  signal: AbortSignal,
): Promise<RunningMember> {
  const allowed = flags.install && process.getuid?.() === 0 && process.env.K8TS_NO_INSTALL !== "1";
  const onInstall = (name: string): void => logger.info(`installing the Debian package ${name}`);
  const refusal = await ensurePrograms(PROGRAMS, { allowed, onInstall, signal });
  if (refusal !== undefined) throw new FlagError(`--etcd managed: ${refusal}`);
  return await startMember(
    {
      ...{ dataDir: flags.server.dataDir, name: hostname, clientPort, peerPort, extra },
      address: memberAddress(flags.server),
      // Other members check that the certificate has the address from which it is shown.
      names: interfaceAddresses(),
      ...{ clock, random, logger },
    },
    signal,
  );
}

async function takeOverEmbeddedStore(
  { flags, clock, logger }: ClusterContext,
  member: RunningMember,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir } = flags.server;
  const folder = join(dataDir, "store");
  if (!existsSync(join(folder, "data.mdb"))) return;
  const tls = etcdClientTls(join(dataDir, "pki"));
  const { keys } = await copyStore(
    { form: "embedded", directory: dataDir },
    { form: "etcd", endpoints: member.endpoints(), tls },
    clock,
    signal,
  );
  renameSync(folder, join(dataDir, "store.before-etcd"));
  logger.info("the objects of the embedded store were copied into etcd", { keys });
}
