/**
 * Keeps a kubelet's certificate valid: before it ends a new one is requested and saved. Lives until the
 * signal aborts.
 */
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type KeyPair, parseCertificate } from "#pki/key-pair.ts";

export interface RotationOptions {
  /** For the log. */
  readonly what: "client certificate" | "serving certificate";
  /** Undefined: there is none yet, it is requested at once. */
  readonly current: KeyPair | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  request(signal: AbortSignal): Promise<KeyPair>;
  /** Keeps the new certificate and its key. */
  save(pair: KeyPair): Promise<void>;
  readonly metrics?: RotationMetrics;
}

export interface RotationMetrics {
  /** A certificate was not issued or not saved. */
  failed(): void;
  /** A certificate was replaced; so long ago it was issued. */
  rotated(ageSeconds: number): void;
}

/** Of a certificate's life, as upstream: between 70 % and 90 % of it. */
const EARLIEST = 0.7;
const SPREAD = 0.2;
/** Timers of Node.js end at 24.8 days. */
const SLEEP_MAX_MS = 24 * 3_600_000;

export async function runCertificateRotation(
  options: RotationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { what, clock, random, logger, save, metrics } = options;
  let { current } = options;
  const backoff = new Backoff({ baseMs: 2_000, capMs: 300_000, jitter: 0.5, random });
  let dueMs = current === undefined ? 0 : rotationTimeMs(current.certificatePem, random.next());
  while (!signal.aborted) {
    try {
      while (clock.nowMs() < dueMs) {
        await clock.sleep(Math.min(dueMs - clock.nowMs(), SLEEP_MAX_MS), signal);
      }
      const next = await options.request(signal);
      await save(next);
      logger.info("a certificate was issued and saved", { what });
      if (current !== undefined) metrics?.rotated(ageSeconds(current, clock.nowMs()));
      current = next;
      dueMs = rotationTimeMs(next.certificatePem, random.next());
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      metrics?.failed();
      logger.warn("a certificate was not issued", { what, error: messageOf(error) });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }
}

function ageSeconds({ certificatePem }: KeyPair, nowMs: number): number {
  const { validFrom } = parseCertificate(certificatePem, "the kubelet's certificate");
  return (nowMs - Date.parse(validFrom)) / 1000;
}

/** `chance` is a number in [0, 1). */
export function rotationTimeMs(certificatePem: string, chance: number): number {
  const { validFrom, validTo } = parseCertificate(certificatePem, "the kubelet's certificate");
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return fromMs + (toMs - fromMs) * (EARLIEST + SPREAD * chance);
}
