/** The limits of the contract, checked alike by every implementation before anything is done. */
import {
  KEY_BYTES_MAX,
  OPERATIONS_MAX,
  type Operation,
  StoreError,
  VALUE_BYTES_MAX,
} from "./contract.ts";

export function checkOperations(
  operations: readonly Operation[],
  valueBytesMax = VALUE_BYTES_MAX,
): void {
  if (operations.length === 0) throw new RangeError("a transaction needs an operation");
  if (operations.length > OPERATIONS_MAX) {
    throw tooLarge(`${operations.length} operations in a transaction; ${OPERATIONS_MAX} may be`);
  }
  for (const operation of operations) checkOperation(operation, valueBytesMax);
  if (operations.length === 1) return;
  const keys = new Set(operations.map(({ key }) => key));
  if (keys.size < operations.length) throw new RangeError("a transaction names a key twice");
}

function checkOperation(operation: Operation, valueBytesMax: number): void {
  const { key } = operation;
  if (key === "") throw new RangeError("a key may not be empty");
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (key.length * 3 > KEY_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX) {
    throw tooLarge(`a key of ${Buffer.byteLength(key)} bytes; ${KEY_BYTES_MAX} may be`);
  }
  const { expectRevision } = operation;
  if (
    expectRevision !== undefined &&
    !(Number.isSafeInteger(expectRevision) && expectRevision > 0)
  ) {
    throw new RangeError(`${key}: ${expectRevision} is no revision`);
  }
  if (operation.op === "delete") return;
  if (operation.mustNotExist === true && expectRevision !== undefined) {
    throw new RangeError(`${key}: mustNotExist and expectRevision exclude each other`);
  }
  if (operation.op !== "put") return;
  if (operation.value.length > valueBytesMax) {
    throw tooLarge(`a value of ${operation.value.length} bytes; ${valueBytesMax} may be`);
  }
  const { ttlSeconds } = operation;
  if (ttlSeconds !== undefined && !(ttlSeconds > 0)) {
    throw new RangeError(`${key}: a time to live of ${ttlSeconds} s`);
  }
}

function tooLarge(message: string): StoreError {
  return new StoreError({ code: "TooLarge" }, message);
}
