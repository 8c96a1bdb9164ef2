/**
 * `k8ts etcd snapshot restore`: makes a snapshot the data of this machine's managed member, as the only
 * member of a new cluster. etcd's own tool writes the data; what was there before is kept aside. The other
 * machines of the control plane join again afterwards.
 */
import { existsSync, renameSync } from "node:fs";
import {
  type MemberRecord,
  memberDataDir,
  readMemberRecord,
  writeMemberRecord,
} from "#etcd/member-record.ts";
import { ensurePrograms } from "#host/debian-packages.ts";
import { runProgram } from "#host/run-program.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { runningProcess } from "../up/pid-file.ts";
import { configuredMember } from "./configured-member.ts";

const PROGRAMS = [{ program: "etcdctl", package: "etcd-client" }];

export async function restoreEtcdSnapshot(
  file: string,
  dataDir: string,
  signal: AbortSignal,
): Promise<string> {
  if (!existsSync(file)) throw new FlagError(`there is no file ${file}`);
  const record = readMemberRecord(dataDir);
  if (record === undefined) throw new FlagError(`${dataDir} has no managed etcd`);
  if (runningProcess(dataDir) !== undefined) {
    throw new FlagError(`a cluster runs on ${dataDir}: end it first (\`k8ts down\`)`);
  }
  const allowed = process.getuid?.() === 0 && process.env.K8TS_NO_INSTALL !== "1";
  const onInstall = (name: string): void =>
    void process.stderr.write(`k8ts: installing the Debian package ${name}\n`);
  const refusal = await ensurePrograms(PROGRAMS, { allowed, onInstall, signal });
  if (refusal !== undefined) throw new FlagError(refusal);
  const { name, peerUrl, clientUrl } = configuredMember(dataDir, record);
  const folder = memberDataDir(dataDir);
  const restored = `${folder}.restored`;
  const { exitCode, stderr } = await runProgram(
    "etcdctl",
    [
      ...["snapshot", "restore", file, "--data-dir", restored, "--name", name],
      ...["--initial-cluster", `${name}=${peerUrl}`, "--initial-advertise-peer-urls", peerUrl],
      ...["--initial-cluster-token", `k8ts-${systemClock.nowMs()}`],
    ],
    { env: { PATH: process.env.PATH ?? "", ETCDCTL_API: "3" }, signal },
  );
  if (exitCode !== 0) throw new FlagError(`${file} cannot be restored: ${lastLine(stderr)}`);
  const aside = `${folder}.before-restore-${systemClock.nowMs()}`;
  if (existsSync(folder)) renameSync(folder, aside);
  renameSync(restored, folder);
  const next: MemberRecord = { name, endpoints: [clientUrl], state: "member" };
  writeMemberRecord(dataDir, next);
  return (
    `restored ${file}; what was there before is in ${aside}.\n` +
    "Start the cluster with `k8ts up`. It has this member alone: on the other machines of its control plane run\n" +
    "`k8ts leave --force`, then join them again.\n"
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
