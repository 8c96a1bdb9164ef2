/** Why the managers of resources refuse a pod, with the reason that its status gets. */
import { messageOf } from "#lib/caught.ts";
import type { AdmissionVerdict } from "../node/admit-pod.ts";

export class AdmissionError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function refusal(error: unknown): AdmissionVerdict {
  if (error instanceof AdmissionError) {
    return { admitted: false, reason: error.reason, message: error.message };
  }
  const message = `Allocate failed due to ${messageOf(error)}, which is unexpected`;
  return { admitted: false, reason: "UnexpectedAdmissionError", message };
}
