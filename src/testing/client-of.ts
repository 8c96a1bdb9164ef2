/** The real client before a server that is a function: for parts that read few objects, and for faults. */
import type { Result } from "#api/meta/status.ts";
import { Client } from "#client/client.ts";
import type { Call } from "#client/transport.ts";
import { seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

/** `answer` rejects with a TransportError for a server that is away. Reads are repeated by the clock. */
export function clientOf(
  answer: (call: Call) => Promise<Result<unknown>> | Result<unknown>,
  clock: Clock,
): Client {
  return new Client({
    transport: {
      send: async (call) => answer(call),
      raw: () => Promise.reject(new Error("only resources are answered")),
      watch: () => {
        throw new Error("only reads and writes are answered");
      },
    },
    clock,
    random: seededRandom(1),
    fieldManager: "test",
  });
}
