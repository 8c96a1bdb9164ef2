/** What etcd and gRPC answer, in the words of the contract. */
import { GrpcError, GRPC_CODES as status } from "#lib/grpc/grpc-status.ts";
import { StoreError, type StoreProblem } from "#store/contract.ts";

export type CallKind = "read" | "write";

/** Throws what is no failure of the call. */
export function toStoreError(error: unknown, kind: CallKind, endpoint: string): StoreError {
  if (!(error instanceof GrpcError)) throw error;
  const message = `etcd (${endpoint}): ${error.message}`;
  return new StoreError(problemOf(error, kind), message, { cause: error });
}

export function unavailable(message: string, maybeApplied = false, cause?: unknown): StoreError {
  return new StoreError({ code: "Unavailable", maybeApplied }, message, { cause });
}

export function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.problem.code === "Unavailable";
}

/** The lease that a write refers to has ended. */
export function isLeaseGone(error: unknown): boolean {
  return /requested lease not found/.test(detailsOf(error));
}

/** etcd reports that a revision was compacted, but not the oldest that is left: the caller has to ask. */
export function isCompacted(error: unknown): boolean {
  return /required revision has been compacted/.test(detailsOf(error));
}

export function isFutureRevision(error: unknown): boolean {
  return /required revision is a future revision/.test(detailsOf(error));
}

/** etcd did answer, about a revision or a lease: every member says the same, however often asked. */
export function isFinal(error: unknown): boolean {
  const code = causeOf(error)?.code;
  return code === status.OUT_OF_RANGE || code === status.NOT_FOUND;
}

function detailsOf(error: unknown): string {
  return causeOf(error)?.message ?? "";
}

function causeOf(error: unknown): GrpcError | undefined {
  const cause = error instanceof StoreError ? error.cause : error;
  return cause instanceof GrpcError ? cause : undefined;
}

/** Refused before anything was proposed to the cluster, so it cannot have been applied. */
const REFUSED = /too many requests|no leader/;

function problemOf({ code, message, notProcessed }: GrpcError, kind: CallKind): StoreProblem {
  switch (code) {
    case status.RESOURCE_EXHAUSTED:
      if (/database space exceeded/.test(message)) return { code: "NoSpace" };
      if (/larger than max/.test(message)) return { code: "TooLarge" };
      break;
    case status.INVALID_ARGUMENT:
      if (/request is too large/.test(message)) return { code: "TooLarge" };
      break;
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
      return { code: "Denied" };
    case status.DATA_LOSS:
      return { code: "Corrupt" };
  }
  const refused = notProcessed || REFUSED.test(message);
  return { code: "Unavailable", maybeApplied: kind === "write" && !refused };
}
