/** Kubernetes quantities in expressions. */
import type { Library } from "#api/cel/library.ts";
import { objectType } from "#api/cel/types/type.ts";
import { CelError, CelObject } from "#api/cel/values/value.ts";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantitySign,
  subtractQuantities,
} from "#api/meta/quantity.ts";

const TYPE = objectType("kubernetes.Quantity");

class QuantityValue extends CelObject {
  readonly type = TYPE;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: CelObject): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

/** A quantity that was checked before, as a value. */
export function quantityAsValue(text: string): CelObject {
  return new QuantityValue(quantityOf(text));
}

const Q = "kubernetes.Quantity";

export const quantityLibrary: Library = {
  functions: {
    [`string_to_quantity quantity(string) -> ${Q}`]: (text: string) => {
      const parsed = parseQuantity(text);
      if (!parsed.ok) throw new CelError(parsed.error);
      return new QuantityValue(parsed.value);
    },
    "is_quantity_string isQuantity(string) -> bool": (text: string) => parseQuantity(text).ok,
    [`quantity_sign sign(${Q}) -> int`]: (a: QuantityValue) => BigInt(quantitySign(a.quantity)),
    [`quantity_is_greater_than ${Q}.isGreaterThan(${Q}) -> bool`]: (
      a: QuantityValue,
      b: QuantityValue,
    ) => compareQuantities(a.quantity, b.quantity) > 0,
    [`quantity_is_less_than ${Q}.isLessThan(${Q}) -> bool`]: (a: QuantityValue, b: QuantityValue) =>
      compareQuantities(a.quantity, b.quantity) < 0,
    [`quantity_compare_to ${Q}.compareTo(${Q}) -> int`]: (a: QuantityValue, b: QuantityValue) =>
      BigInt(compareQuantities(a.quantity, b.quantity)),
    [`quantity_get_float ${Q}.asApproximateFloat() -> double`]: ({ quantity }: QuantityValue) =>
      Number(`${quantity.mantissa}e${quantity.exponent}`),
    [`quantity_get_int ${Q}.asInteger() -> int`]: ({ quantity }: QuantityValue) => {
      const whole = wholeValue(quantity);
      if (whole === undefined) throw new CelError("cannot convert value to integer");
      return whole;
    },
    [`quantity_is_integer ${Q}.isInteger() -> bool`]: ({ quantity }: QuantityValue) =>
      wholeValue(quantity) !== undefined,
    [`quantity_add ${Q}.add(${Q}) -> ${Q}`]: (a: QuantityValue, b: QuantityValue) =>
      new QuantityValue(addQuantities(a.quantity, b.quantity)),
    [`quantity_add_int ${Q}.add(int) -> ${Q}`]: (a: QuantityValue, b: bigint) =>
      new QuantityValue(addQuantities(a.quantity, fromInt(b))),
    [`quantity_sub ${Q}.sub(${Q}) -> ${Q}`]: (a: QuantityValue, b: QuantityValue) =>
      new QuantityValue(subtractQuantities(a.quantity, b.quantity)),
    [`quantity_sub_int ${Q}.sub(int) -> ${Q}`]: (a: QuantityValue, b: bigint) =>
      new QuantityValue(subtractQuantities(a.quantity, fromInt(b))),
  },
};

function fromInt(value: bigint): Quantity {
  return quantityOf(value.toString());
}

/** Undefined if there is a fraction or it does not fit 64 bits. */
function wholeValue({ mantissa, exponent }: Quantity): bigint | undefined {
  const value = BigInt(mantissa);
  if (exponent > 20) return value === 0n ? 0n : undefined;
  const scale = 10n ** BigInt(Math.abs(exponent));
  if (exponent < 0 && value % scale !== 0n) return undefined;
  const whole = exponent < 0 ? value / scale : value * scale;
  return BigInt.asIntN(64, whole) === whole ? whole : undefined;
}
