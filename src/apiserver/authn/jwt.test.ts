import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { decodeToken } from "./jwt.ts";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const header = encode({ alg: "RS256" });
const tokenWith = (claims: object, signature = "c2ln"): string =>
  `${header}.${encode(claims)}.${signature}`;

describe("decodeToken: a JWT is read strictly", () => {
  test("a token with numeric dates is read", () => {
    assert.deepEqual(decodeToken(tokenWith({ exp: 5.5, nbf: 0, iat: null }))?.claims, {
      exp: 5.5,
      nbf: 0,
      iat: null,
    });
  });

  const signatures = ["", "c2l+", "c2l/", "c2ln=", "c2ln\n", "c2lnc", "c2 n", "c2ln!"];
  test.each(signatures)("the signature %j is no base64url and is refused", (signature) => {
    assert.equal(decodeToken(tokenWith({}, signature)), undefined);
  });

  for (const claim of ["exp", "nbf", "iat"]) {
    test.each(["9999999999", true, {}, []])(`${claim} of %j is refused`, (value) => {
      assert.equal(decodeToken(tokenWith({ [claim]: value })), undefined);
    });
  }

  test("JWT: an exp beyond the number range is refused", () => {
    const payload = Buffer.from('{"exp":1e400}').toString("base64url");
    assert.equal(decodeToken(`${header}.${payload}.c2ln`), undefined);
  });
});
