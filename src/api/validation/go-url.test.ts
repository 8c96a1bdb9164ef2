import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { parseGoUrl } from "./go-url.ts";

const PLAIN = { scheme: "", user: undefined, host: "", query: "", fragment: "" };

describe("URLs as Go reads them", () => {
  const good = [
    {
      text: "https://h:1/p?q=1#f",
      url: { scheme: "https", host: "h:1", query: "q=1", fragment: "f" },
    },
    { text: "HTTPS://u:p@h", url: { scheme: "https", user: "u:p", host: "h" } },
    { text: "https://[::1]:80/", url: { scheme: "https", host: "[::1]:80" } },
    { text: "mailto:a@b", url: { scheme: "mailto" } },
    { text: "a:b/c", url: { scheme: "a" } },
    { text: "/p/a:b", url: {} },
    { text: "", url: {} },
    { text: "*", url: {} },
    { text: "#a%20b", url: { fragment: "a b" } },
    { text: "///p", url: {} },
  ];
  for (const { text, url } of good) {
    test(`read ${JSON.stringify(text)}`, () =>
      assert.deepEqual(parseGoUrl(text), { ok: true, url: { ...PLAIN, ...url } }));
  }

  const bad = [
    { text: ":a", fault: 'parse ":a": missing protocol scheme' },
    { text: "1:b", fault: 'parse "1:b": first path segment in URL cannot contain colon' },
    {
      text: "https://h\n",
      fault: 'parse "https://h\\n": net/url: invalid control character in URL',
    },
    { text: "https://h:x", fault: 'parse "https://h:x": invalid port ":x" after host' },
    { text: "https://[::1", fault: "parse \"https://[::1\": missing ']' in host" },
    { text: "https://a b", fault: 'parse "https://a b": invalid character " " in host name' },
    { text: "https://h/%zz", fault: 'parse "https://h/%zz": invalid URL escape "%zz"' },
    { text: "https://h#%1", fault: 'parse "https://h#%1": invalid URL escape "%1"' },
    { text: "https://u\\@h", fault: 'parse "https://u\\\\@h": net/url: invalid userinfo' },
  ];
  for (const { text, fault } of bad) {
    test(`refuse ${JSON.stringify(text)}`, () => {
      const parsed = parseGoUrl(text);
      assert.equal(parsed.ok ? undefined : parsed.fault, fault);
    });
  }
});
