/** A failure of a pod's step that is recorded as an Event. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
