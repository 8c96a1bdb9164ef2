/**
 * Frees the memory of a buffer at once. Otherwise it stays until the next collection of garbage, which in a
 * program at rest may be hours away. Nothing may use the buffer any more: it is empty afterwards.
 * Node 20 cannot do that: there the memory stays.
 */
export function freeBuffer({ buffer }: Uint8Array): void {
  const transfer: unknown = Reflect.get(buffer, "transfer");
  if (typeof transfer === "function") Reflect.apply(transfer, buffer, [0]);
}
