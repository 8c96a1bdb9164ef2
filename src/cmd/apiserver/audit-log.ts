/** The audit log that the flags ask for. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { LogFile } from "#apiserver/audit/log-file.ts";
import { readAuditPolicy } from "#apiserver/audit/policy.ts";
import type { SecurityOptions } from "#apiserver/security.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { ApiServerFlags } from "./flags.ts";

const MEGABYTE = 1024 * 1024;

export interface AuditLog {
  readonly options: NonNullable<SecurityOptions["audit"]>;
  /** Waits until everything is written. */
  close(): Promise<void>;
}

/** Undefined unless both a policy and a place are given. */
export function openAuditLog(
  flags: ApiServerFlags,
  clock: Clock,
  logger: Logger,
): AuditLog | undefined {
  const { auditPolicyFile, auditLogPath } = flags;
  if (auditPolicyFile === undefined || auditLogPath === undefined) return undefined;
  const document = load(readFileSync(auditPolicyFile, "utf8"));
  const policy = readAuditPolicy(document, auditPolicyFile);
  if (auditLogPath === "-") {
    const write = (line: string): void => void process.stdout.write(line);
    return { options: { policy, write }, close: async () => undefined };
  }
  const file = new LogFile({
    path: auditLogPath,
    bytesMax: flags.auditLogMaxsize * MEGABYTE,
    backupsMax: flags.auditLogMaxbackup,
    ageDaysMax: flags.auditLogMaxage,
    clock,
    logger,
  });
  return { options: { policy, write: (line) => file.write(line) }, close: () => file.close() };
}
