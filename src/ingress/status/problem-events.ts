/** Writes an Event for each problem of an Ingress, once for as long as the problem is there. */
import type { EventRecorder } from "#client/event-recorder.ts";
import type { Problem } from "../routes/build-routing-table.ts";

const COMPONENT = "k8ts-ingress";
/** More are not written: the others come up when these are mended. */
const PROBLEMS_MAX = 10_000;

export class ProblemEvents {
  readonly #recorder: EventRecorder;
  #known = new Set<string>();

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  report(problems: readonly Problem[]): void {
    const now = new Set<string>();
    for (const { ingress, reason, message } of problems.slice(0, PROBLEMS_MAX)) {
      const id = `${ingress.metadata.uid} ${reason} ${message}`;
      if (!this.#known.has(id) && !now.has(id)) {
        this.#recorder.record(COMPONENT, { about: ingress, type: "Warning", reason, message });
      }
      now.add(id);
    }
    this.#known = now;
  }
}
