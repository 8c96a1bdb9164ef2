/** Failures of the store as Statuses: 503 when it cannot be reached. Other errors are thrown on. */
import type { Status } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  failure,
  internalErrorStatus,
  type Result,
  requestTooLargeStatus,
  serviceUnavailableStatus,
  unknownStatus,
} from "#api/meta/status.ts";
import { StoreError } from "#store/contract.ts";
import { EncryptionError } from "../encryption/transformer.ts";

export async function guarded<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work();
  } catch (error) {
    return failureOf(error);
  }
}

export function untransformable(key: string, { message }: EncryptionError): string {
  return `unable to transform key ${goQuote(key)}: ${message}`;
}

export function failureOf(error: unknown): Result<never> {
  if (error instanceof EncryptionError) return failure(internalErrorStatus(error.message));
  if (!(error instanceof StoreError)) throw error;
  return failure(statusOfStoreError(error));
}

export function statusOfStoreError(error: StoreError): Status {
  switch (error.problem.code) {
    case "TooLarge":
      return requestTooLargeStatus(error.message);
    case "Unavailable":
    case "Closed":
    case "InUse":
    case "Denied":
    case "NoSpace":
      return serviceUnavailableStatus(`the store is not available: ${error.message}`);
    case "Corrupt":
      return unknownStatus(error.message);
    default:
      return internalErrorStatus(error.message);
  }
}
