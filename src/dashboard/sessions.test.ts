import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { Sessions } from "./sessions.ts";

function setUp() {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  let count = 0;
  return { clock, sessions: new Sessions({ clock, newSecret: () => `secret-${++count}` }) };
}

describe("dashboard sessions", () => {
  test("a login token works once", () => {
    const { sessions } = setUp();
    const token = sessions.newLoginToken();
    const secrets = sessions.exchange(token);
    assert.equal(sessions.isValid(secrets?.session, secrets?.csrf), true);
    assert.equal(sessions.exchange(token), undefined);
    assert.equal(sessions.exchange("guess"), undefined);
  });

  test("a login token expires after five minutes", async () => {
    const { clock, sessions } = setUp();
    const token = sessions.newLoginToken();
    await clock.advance(5 * 60_000);
    assert.equal(sessions.exchange(token), undefined);
  });

  test("the cookie is no proof without the CSRF token, nor the other way round", () => {
    const { sessions } = setUp();
    const one = sessions.exchange(sessions.newLoginToken());
    const other = sessions.exchange(sessions.newLoginToken());
    assert.equal(sessions.isValid(one?.session, undefined), false);
    assert.equal(sessions.isValid(undefined, one?.csrf), false);
    assert.equal(sessions.isValid(one?.session, other?.csrf), false);
  });

  test("a session ends twelve hours after its last use, or when it is ended", async () => {
    const { clock, sessions } = setUp();
    const { session = "", csrf } = sessions.exchange(sessions.newLoginToken()) ?? {};
    await clock.advance(11 * 3_600_000);
    assert.equal(sessions.isValid(session, csrf), true);
    await clock.advance(11 * 3_600_000);
    assert.equal(sessions.isValid(session, csrf), true);
    await clock.advance(12 * 3_600_000);
    assert.equal(sessions.isValid(session, csrf), false);
  });
});
