/**
 * Several transformers in one. The first one seals. The ones whose prefix a stored value has try to
 * open it, in order; what another than the first has opened is stale.
 */

import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Clock } from "#lib/time/clock.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import type { CountTransformation } from "./encryption-metrics.ts";
import {
  EncryptionError,
  type Opened,
  type PrefixTransformer,
  type StorageContext,
  type Transformer,
} from "./transformer.ts";

export interface PrefixOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly count: CountTransformation;
}

/** `noMatch`: what is said of a value that has none of the prefixes. */
export function prefixTransformers(
  all: readonly PrefixTransformer[],
  noMatch: string,
  { clock, count }: PrefixOptions,
): Transformer {
  const prefixes = all.map(({ prefix }) => Buffer.from(prefix));
  const first = all[0]!;

  const openFrom = (
    at: number,
    stored: Uint8Array,
    context: StorageContext,
    faults: readonly EncryptionError[],
  ): MaybePromise<Opened> => {
    const index = prefixes.findIndex((prefix, i) => i >= at && startsWith(stored, prefix));
    if (index < 0) throw refusal(faults, context);
    const { prefix, transformer } = all[index]!;
    const startMs = clock.elapsedMs();
    const took = (): number => (clock.elapsedMs() - startMs) / 1000;
    const label = prefix === "" ? "identity" : prefix;
    const succeed = ({ plain, stale }: Opened): Opened => {
      count("from_storage", context.resource, label, took(), undefined);
      return { plain, stale: stale || index > 0 };
    };
    const fail = (error: unknown): MaybePromise<Opened> => {
      if (!(error instanceof EncryptionError)) throw error;
      // The identity provider in front of others only says that the value is encrypted.
      if (prefix === "") return openFrom(index + 1, stored, context, faults);
      count("from_storage", context.resource, label, took(), error);
      return openFrom(index + 1, stored, context, [...faults, error]);
    };
    try {
      // A plain value stays the same array, so that own writes are recognised when they come back.
      const rest = prefix === "" ? stored : stored.subarray(prefixes[index]!.length);
      const opened = transformer.open(rest, context);
      return opened instanceof Promise ? opened.then(succeed, fail) : succeed(opened);
    } catch (error) {
      return fail(error);
    }
  };

  const refusal = (
    faults: readonly EncryptionError[],
    context: StorageContext,
  ): EncryptionError => {
    if (faults.length === 0) {
      const error = new EncryptionError(noMatch);
      count("from_storage", context.resource, "unknown", 0, error);
      return error;
    }
    const code = faults.find(({ grpcCode }) => grpcCode !== undefined)?.grpcCode;
    return new EncryptionError(aggregateText(faults.map(({ message }) => message)), code);
  };

  return {
    open: (stored, context) => openFrom(0, stored, context, []),
    seal(plain, context) {
      const startMs = clock.elapsedMs();
      const took = (): number => (clock.elapsedMs() - startMs) / 1000;
      try {
        const sealed = first.transformer.seal(plain, context);
        count("to_storage", context.resource, first.prefix, took(), undefined);
        return first.prefix === "" ? sealed : Buffer.concat([prefixes[0]!, sealed]);
      } catch (error) {
        if (error instanceof EncryptionError) {
          count("to_storage", context.resource, first.prefix, took(), error);
        }
        throw error;
      }
    },
  };
}

function startsWith(stored: Uint8Array, prefix: Buffer): boolean {
  if (stored.length < prefix.length) return false;
  return prefix.equals(stored.subarray(0, prefix.length));
}
