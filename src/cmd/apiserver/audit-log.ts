/** The audit log that the flags ask for: a file, a webhook, or both. */
import { readFileSync } from "node:fs";
import type { Stored } from "#apiserver/audit/audit.ts";
import { legacyLine } from "#apiserver/audit/legacy-line.ts";
import { LogFile } from "#apiserver/audit/log-file.ts";
import { readAuditPolicy } from "#apiserver/audit/policy.ts";
import { truncateEvent } from "#apiserver/audit/truncate.ts";
import { AuditWebhook, sendEvent } from "#apiserver/audit/webhook.ts";
import type { SecurityOptions } from "#apiserver/request/security.ts";
import { withRetries } from "#apiserver/webhook/webhook.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { egressDialers } from "./egress.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { webhookFrom } from "./webhook-call.ts";

const MEGABYTE = 1024 * 1024;
const WEBHOOK_TIMEOUT_MS = 30_000;
/** What the webhook does not take within this time when the server ends is lost. */
const CLOSE_WITHIN_MS = 400;

export interface AuditLog {
  readonly options: NonNullable<SecurityOptions["audit"]>;
  /** Waits until everything is written. */
  close(): Promise<void>;
}

interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Sink {
  readonly waits: boolean;
  write(line: string): Stored;
  close(): Promise<void>;
}

/** Undefined unless both a policy and a place are given. */
export function openAuditLog(flags: ApiServerFlags, around: Surroundings): AuditLog | undefined {
  const { auditPolicyFile } = flags;
  if (auditPolicyFile === undefined) return undefined;
  const sinks = [fileSink(flags, around), webhookSink(flags, around)].filter(
    (sink) => sink !== undefined,
  );
  const [only] = sinks;
  if (only === undefined) return undefined;
  const text = readFileSync(auditPolicyFile, "utf8");
  const policy = readAuditPolicy(text, auditPolicyFile, (faults) =>
    around.logger.warn("the audit policy holds what is none", { file: auditPolicyFile, faults }),
  );
  const write =
    sinks.length === 1
      ? only.write
      : (line: string): Stored => allStored(sinks.map((sink) => sink.write(line)));
  const waits = sinks.some((sink) => sink.waits);
  return {
    options: { policy, write, waits },
    close: async () => void (await Promise.all(sinks.map((sink) => sink.close()))),
  };
}

function allStored(stored: readonly Stored[]): Stored {
  const waiting = stored.filter((one) => one !== undefined);
  if (waiting.length === 0) return undefined;
  return Promise.all(waiting).then((all) => !all.includes(false));
}

function fileSink(flags: ApiServerFlags, { clock, logger }: Surroundings): Sink | undefined {
  const { auditLogPath: path } = flags;
  if (path === undefined) return undefined;
  const bytesMax = flags.auditLogTruncateEnabled ? flags.auditLogTruncateMaxEventSize : undefined;
  const shown = flags.auditLogFormat === "legacy" ? legacyLine : (line: string): string => line;
  if (path === "-") {
    const write = cut((line) => void process.stdout.write(shown(line)), bytesMax, logger);
    return { waits: false, write, close: async () => undefined };
  }
  const file = new LogFile({
    path,
    bytesMax: flags.auditLogMaxsize * MEGABYTE,
    backupsMax: flags.auditLogMaxbackup,
    ageDaysMax: flags.auditLogMaxage,
    compress: flags.auditLogCompress,
    clock,
    logger,
  });
  // Only who insists waits for the disk; lines are in order and few are ever under way.
  const waits = flags.auditLogMode === "blocking-strict";
  const write = (line: string): Stored =>
    waits ? file.stored(shown(line)) : void file.write(shown(line));
  return { waits, write: cut(write, bytesMax, logger), close: () => file.close() };
}

function webhookSink(flags: ApiServerFlags, around: Surroundings): Sink | undefined {
  const { auditWebhookConfigFile: kubeconfig } = flags;
  if (kubeconfig === undefined) return undefined;
  const { clock, logger } = around;
  const connect = egressDialers(flags.egressSelectorConfigFile).controlplane;
  const send = withRetries(
    webhookFrom(kubeconfig, { timeoutMs: WEBHOOK_TIMEOUT_MS, answers: false, connect }),
    around,
    flags.auditWebhookInitialBackoff * 1000,
  );
  const bytesMax = flags.auditWebhookTruncateEnabled
    ? flags.auditWebhookTruncateMaxEventSize
    : undefined;
  if (flags.auditWebhookMode !== "batch") {
    const strict = flags.auditWebhookMode === "blocking-strict";
    const write = async (line: string): Promise<boolean> =>
      (await sendEvent(line.trimEnd(), { send, logger })) || !strict;
    return { waits: true, write: cut(write, bytesMax, logger), close: async () => undefined };
  }
  const hook = new AuditWebhook({
    send,
    batchMax: flags.auditWebhookBatchMaxSize,
    waitMsMax: flags.auditWebhookBatchMaxWait * 1000,
    bufferMax: flags.auditWebhookBatchBufferSize,
    clock,
    logger,
  });
  return {
    waits: false,
    write: cut((line) => void hook.write(line.trimEnd()), bytesMax, logger),
    close: async () => {
      const closed = new AbortController();
      const tooLong = clock.sleep(CLOSE_WITHIN_MS, closed.signal).catch(() => undefined);
      await Promise.race([hook.close(), tooLong]);
      closed.abort();
    },
  };
}

/** Truncates long events, if there is a limit. */
function cut(write: Sink["write"], bytesMax: number | undefined, logger: Logger): Sink["write"] {
  if (bytesMax === undefined) return write;
  return (line) => {
    const short = truncateEvent(line, bytesMax);
    if (short !== undefined) return write(short);
    logger.error("an audit event is too large even after truncating");
    return undefined;
  };
}
