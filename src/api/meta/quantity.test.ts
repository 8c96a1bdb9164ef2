import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  negateQuantity,
  parseQuantity,
  quantityFrom,
  quantityMilliValue,
  quantityOf,
  quantitySign,
  quantityValue,
  scaledValue,
  subtractQuantities,
  ZERO_QUANTITY,
} from "./quantity.ts";

const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

describe("Quantity: canonical text", () => {
  const rows: readonly (readonly [text: string, canonical: string])[] = [
    ["0", "0"],
    ["-0", "0"],
    ["000", "0"],
    ["+", "0"],
    [".", "0"],
    ["k", "0"],
    ["0Ki", "0"],
    ["1", "1"],
    ["100m", "100m"],
    ["1000m", "1"],
    ["0.1", "100m"],
    [".5", "500m"],
    ["1.5", "1500m"],
    ["-1.5", "-1500m"],
    ["1000", "1k"],
    ["1500k", "1500k"],
    ["1000000", "1M"],
    ["12345678", "12345678"],
    ["100k", "100k"],
    ["1e3", "1e3"],
    ["1E3", "1E3"],
    ["1e1", "10"],
    ["1000e0", "1e3"],
    ["12e-3", "12e-3"],
    ["1e-12", "1e-9"],
    ["0.1n", "1n"],
    ["1.1n", "2n"],
    ["-1.1n", "-2n"],
    ["+5", "+5"],
    ["05", "05"],
    ["1.", "1."],
    ["1.500", "1.500"],
    ["0.100", "100m"],
    ["1Ki", "1Ki"],
    ["1024Ki", "1Mi"],
    ["1000Ki", "1000Ki"],
    ["1.5Gi", "1536Mi"],
    ["0.5Ki", "512"],
    ["1.5Ki", "1536"],
    ["1.1Ki", "1126400m"],
    ["0.0001Ki", "102400u"],
    ["-1.5Gi", "-1536Mi"],
    ["128974848", "128974848"],
    ["123Mi", "123Mi"],
    ["7Ei", "7Ei"],
    ["8Ei", "9223372036854775807"],
    ["-100Ei", "-9223372036854775807"],
    ["+1Ti", "+1Ti"],
    ["+100Ti", "100Ti"],
    ["1E", "1E"],
    ["1000E", "1"],
    ["1000000000000000000000", "1"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["0.0000000000000000000000000", "0"],
    ["0.00000000000000000000000001", "1n"],
    ["1e5000000000", "10e705032703"],
    ["1e-2000000000", "1e-9"],
  ];
  for (const [text, canonical] of rows) {
    test(`${text} is ${canonical}`, () => assert.equal(canonicalQuantity(text), canonical));
  }
});

describe("Quantity: refused texts", () => {
  const suffix = "unable to parse quantity's suffix";
  const rows: readonly (readonly [text: string, error: string])[] = [
    ["", WRONG_FORMAT],
    [" 1", WRONG_FORMAT],
    ["1 ", WRONG_FORMAT],
    ["abc", WRONG_FORMAT],
    ["1.5.5", WRONG_FORMAT],
    ["1Kx", WRONG_FORMAT],
    ["--1", suffix],
    ["1e", suffix],
    ["1i", suffix],
    ["1ki", suffix],
    ["1k5", suffix],
    ["1-5", suffix],
    ["1e99999999999999999999", suffix],
  ];
  for (const [text, error] of rows) {
    test(JSON.stringify(text), () => {
      assert.deepEqual(parseQuantity(text), { ok: false, error });
      assert.equal(canonicalQuantity(text), undefined);
    });
  }
  test("a hundred thousand digits are refused", () => {
    const error = "unable to parse numeric part of quantity";
    assert.deepEqual(parseQuantity("9".repeat(100_000)), { ok: false, error });
  });
  test("quantityOf throws on it", () => assert.throws(() => quantityOf("x"), /cannot parse 'x'/));
});

describe("Quantity: numbers", () => {
  const rows: readonly (readonly [text: string, value: number, milli: number])[] = [
    ["0", 0, 0],
    ["1500m", 2, 1500],
    ["-1500m", -2, -1500],
    ["1n", 1, 1],
    ["1Gi", 1073741824, 1073741824000],
    ["1e3", 1000, 1_000_000],
    ["100u", 1, 1],
    [
      "123456789012345678901234567890m",
      Number("123456789012345678901234568"),
      Number("123456789012345678901234567890"),
    ],
  ];
  for (const [text, value, milli] of rows) {
    test(text, () => {
      assert.equal(quantityValue(quantityOf(text)), value);
      assert.equal(quantityMilliValue(quantityOf(text)), milli);
    });
  }
  test("scaledValue rounds up to any unit", () => {
    assert.equal(scaledValue(quantityOf("1500"), 3), 2);
    assert.equal(scaledValue(quantityOf("2M"), 3), 2000);
    assert.equal(scaledValue(quantityOf("1m"), 100), 1);
  });
});

describe("Quantity: arithmetic", () => {
  const sum = (a: string, b: string) => formatQuantity(addQuantities(quantityOf(a), quantityOf(b)));
  const difference = (a: string, b: string) =>
    formatQuantity(subtractQuantities(quantityOf(a), quantityOf(b)));

  test("keeps the notation of the first", () => {
    assert.equal(sum("1Gi", "1Gi"), "2Gi");
    assert.equal(sum("1Gi", "24M"), "1097741824");
    assert.equal(sum("100m", "1"), "1100m");
    assert.equal(sum("0", "1Gi"), "1Gi");
    assert.equal(sum("1Gi", "0"), "1Gi");
    assert.equal(difference("1", "100m"), "900m");
    assert.equal(difference("0", "1Gi"), "-1Gi");
    assert.equal(difference("1Gi", "1Gi"), "0");
  });
  test("is exact beyond 2^53", () => {
    assert.equal(sum("9007199254740991", "1n"), "9007199254740991000000001n");
    assert.equal(difference("9007199254740991000000001n", "9007199254740991"), "1n");
  });
  test("a hopeless gap of exponents ends at once", () => {
    assert.equal(sum("1e2000000001", "1"), "1e2000000001");
  });
  test("sign and zero", () => {
    assert.equal(quantitySign(quantityOf("-1m")), -1);
    assert.equal(quantitySign(ZERO_QUANTITY), 0);
    assert.equal(formatQuantity(negateQuantity(quantityOf("+5"))), "-5");
    assert.equal(formatQuantity(quantityFrom(2048n, "BinarySI")), "2Ki");
    assert.equal(formatQuantity(quantityFrom(250, "DecimalSI", -3)), "250m");
  });
});

describe("Quantity: properties", () => {
  const text = fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 25n }), fc.nat().map(BigInt)),
      fc.option(fc.nat(999_999_999).map(String), { nil: undefined }),
      fc.constantFrom(
        "",
        "n",
        "u",
        "m",
        "k",
        "M",
        "G",
        "T",
        "P",
        "E",
        "Ki",
        "Mi",
        "Gi",
        "Ti",
        "e3",
        "E-6",
      ),
    )
    .map(
      ([sign, whole, fraction, suffix]) =>
        `${sign}${whole}${fraction === undefined ? "" : `.${fraction}`}${suffix}`,
    );

  test("the canonical text is a fixed point", () => {
    fc.assert(
      fc.property(text, (t) => {
        const canonical = formatQuantity({ ...quantityOf(t), text: undefined });
        assert.equal(canonicalQuantity(canonical), canonical);
      }),
      { seed: 1 },
    );
  });
  test("below 10^21 the canonical text has the same value", () => {
    fc.assert(
      fc.property(text, (t) => {
        const quantity = quantityOf(t);
        fc.pre(Math.abs(scaledValue(quantity, 0)) < 1e21);
        const again = quantityOf(formatQuantity({ ...quantity, text: undefined }));
        assert.equal(compareQuantities(quantity, again), 0);
      }),
      { seed: 2 },
    );
  });
  test("comparison agrees with the sign of the difference", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [x, y] = [quantityOf(a), quantityOf(b)];
        assert.equal(compareQuantities(x, y), quantitySign(subtractQuantities(x, y)));
        assert.equal(compareQuantities(y, x), quantitySign(subtractQuantities(y, x)));
      }),
      { seed: 3 },
    );
  });
  test("any text ends in a quantity or an error", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0159.+-eEinumkKMGTP ") }), (t) => {
        const parsed = parseQuantity(t);
        if (parsed.ok) formatQuantity(parsed.value);
      }),
      { seed: 4, numRuns: 2000 },
    );
  });
});
