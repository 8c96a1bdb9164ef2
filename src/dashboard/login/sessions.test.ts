import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { ApiAccess } from "../api-access.ts";
import { LinkLogin } from "./link-login.ts";
import { Sessions } from "./sessions.ts";

const api = new ApiAccess({ server: "https://127.0.0.1:1" });

function setUp() {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  let count = 0;
  const newSecret = (): string => `secret-${++count}`;
  const ended: string[] = [];
  const sessions = new Sessions({ clock, newSecret });
  const open = (user: string) => sessions.open({ user, api, end: () => void ended.push(user) });
  return { clock, sessions, open, ended, login: new LinkLogin({ api, clock, newSecret }) };
}

describe("dashboard login", () => {
  test("the token of a link works once", async () => {
    const { login } = setUp();
    const token = login.newToken();
    assert.equal((await login.login(token)).ok, true);
    assert.equal((await login.login(token)).ok, false);
    assert.equal((await login.login("guess")).ok, false);
  });

  test("the token of a link expires after five minutes", async () => {
    const { clock, login } = setUp();
    const token = login.newToken();
    await clock.advance(5 * 60_000);
    assert.equal((await login.login(token)).ok, false);
  });
});

describe("dashboard sessions", () => {
  test("the cookie is no proof without the CSRF token, nor the other way round", () => {
    const { sessions, open } = setUp();
    const one = open("a");
    const other = open("a");
    assert.notEqual(sessions.find(one.session, one.csrf), undefined);
    assert.equal(sessions.find(one.session, undefined), undefined);
    assert.equal(sessions.find(undefined, one.csrf), undefined);
    assert.equal(sessions.find(one.session, other.csrf), undefined);
  });

  test("a session ends twelve hours after its last use, and its signal aborts", async () => {
    const { clock, sessions, open, ended } = setUp();
    const { session, csrf } = open("a");
    await clock.advance(11 * 3_600_000);
    const signal = sessions.find(session, csrf)?.signal;
    await clock.advance(11 * 3_600_000);
    assert.notEqual(sessions.find(session, csrf), undefined);
    await clock.advance(12 * 3_600_000);
    assert.equal(sessions.find(session, csrf), undefined);
    assert.equal(signal?.aborted, true);
    assert.deepEqual(ended, ["a"]);
  });

  test("a user with many sessions ends the oldest of their own, not those of others", () => {
    const { sessions, open, ended } = setUp();
    const other = open("b");
    const first = open("a");
    for (let i = 0; i < 16; i++) open("a");
    assert.equal(sessions.find(first.session, first.csrf), undefined);
    assert.notEqual(sessions.find(other.session, other.csrf), undefined);
    assert.deepEqual(ended, ["a"]);
  });
});
