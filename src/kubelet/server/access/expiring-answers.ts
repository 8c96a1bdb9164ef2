/** A bounded cache of answers with an expiry; concurrent callers share one request. */
import type { Clock } from "#lib/time/clock.ts";

const ANSWERS_MAX = 10_000;

export class ExpiringAnswers<Answer> {
  readonly #clock: Clock;
  readonly #validMs: (answer: Answer) => number;
  readonly #answers = new Map<string, { readonly answer: Promise<Answer>; untilMs: number }>();

  constructor(clock: Clock, validMs: (answer: Answer) => number) {
    this.#clock = clock;
    this.#validMs = validMs;
  }

  get(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#answers.get(question);
    if (known !== undefined && nowMs < known.untilMs) return known.answer;
    const answer = ask();
    const entry = { answer, untilMs: Number.POSITIVE_INFINITY };
    this.#answers.delete(question);
    this.#answers.set(question, entry);
    answer.then(
      (value) => {
        entry.untilMs = this.#clock.elapsedMs() + this.#validMs(value);
      },
      () => {
        if (this.#answers.get(question) === entry) this.#answers.delete(question);
      },
    );
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= ANSWERS_MAX) break;
      this.#answers.delete(oldest);
    }
    return answer;
  }
}
