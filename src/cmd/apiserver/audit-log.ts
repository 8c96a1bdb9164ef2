/** The audit log that the flags ask for. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { LogFile } from "#apiserver/audit/log-file.ts";
import { readAuditPolicy } from "#apiserver/audit/policy.ts";
import { truncateEvent } from "#apiserver/audit/truncate.ts";
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
  const cut = (write: (line: string) => void): ((line: string) => void) =>
    flags.auditLogTruncateEnabled
      ? (line) => {
          const short = truncateEvent(line, flags.auditLogTruncateMaxEventSize);
          if (short === undefined)
            logger.error("an audit event is too large even after truncating");
          else write(short);
        }
      : write;
  if (auditLogPath === "-") {
    const write = cut((line) => void process.stdout.write(line));
    return { options: { policy, write }, close: async () => undefined };
  }
  const file = new LogFile({
    path: auditLogPath,
    bytesMax: flags.auditLogMaxsize * MEGABYTE,
    backupsMax: flags.auditLogMaxbackup,
    ageDaysMax: flags.auditLogMaxage,
    compress: flags.auditLogCompress,
    clock,
    logger,
  });
  const write = cut((line) => file.write(line));
  return { options: { policy, write }, close: () => file.close() };
}
