import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { validateTokenRequest, withTokenDefaults } from "./reviews.ts";

describe("requests for tokens", () => {
  const rows = [
    { name: "an hour by default", given: undefined, seconds: 3600, faults: [] },
    { name: "ten minutes at least", given: 600, seconds: 600, faults: [] },
    {
      name: "a moment is too short",
      given: 599,
      seconds: 599,
      faults: ["Invalid value: 599: may not specify a duration less than 10 minutes"],
    },
    {
      name: "a lifetime is too long",
      given: 2 ** 32 + 1,
      seconds: 2 ** 32 + 1,
      faults: ["Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"],
    },
  ];
  for (const { name, given, seconds, faults } of rows) {
    test(name, () => {
      const request = withTokenDefaults({
        metadata: {},
        spec: {
          audiences: null,
          boundObjectRef: null,
          ...(given === undefined ? {} : { expirationSeconds: given }),
        } as TokenRequest["spec"],
        status: { token: "", expirationTimestamp: null },
      });
      assert.equal(request.spec.expirationSeconds, seconds);
      assert.deepEqual(validateTokenRequest(request).map(formatFieldError), faults);
    });
  }
});
