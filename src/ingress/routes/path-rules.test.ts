import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { PathRules } from "./path-rules.ts";

/** The table of the Ingress documentation: pathType, paths of rules, path of the request, rule that matches. */
const EXAMPLES: readonly (readonly [string, readonly string[], string, string | undefined])[] = [
  ["Prefix", ["/"], "/anything", "/"],
  ["Exact", ["/foo"], "/foo", "/foo"],
  ["Exact", ["/foo"], "/bar", undefined],
  ["Exact", ["/foo"], "/foo/", undefined],
  ["Exact", ["/foo/"], "/foo", undefined],
  ["Prefix", ["/foo"], "/foo", "/foo"],
  ["Prefix", ["/foo"], "/foo/", "/foo"],
  ["Prefix", ["/foo/"], "/foo", "/foo/"],
  ["Prefix", ["/foo/"], "/foo/", "/foo/"],
  ["Prefix", ["/aaa/bb"], "/aaa/bbb", undefined],
  ["Prefix", ["/aaa/bbb"], "/aaa/bbb", "/aaa/bbb"],
  ["Prefix", ["/aaa/bbb/"], "/aaa/bbb", "/aaa/bbb/"],
  ["Prefix", ["/aaa/bbb"], "/aaa/bbb/", "/aaa/bbb"],
  ["Prefix", ["/aaa/bbb"], "/aaa/bbb/ccc", "/aaa/bbb"],
  ["Prefix", ["/aaa/bbb"], "/aaa/bbbxyz", undefined],
  ["Prefix", ["/", "/aaa"], "/aaa/ccc", "/aaa"],
  ["Prefix", ["/", "/aaa", "/aaa/bbb"], "/aaa/bbb", "/aaa/bbb"],
  ["Prefix", ["/", "/aaa", "/aaa/bbb"], "/ccc", "/"],
  ["Prefix", ["/aaa"], "/ccc", undefined],
];

describe("Ingress paths", () => {
  for (const [type, paths, request, want] of EXAMPLES) {
    test(`${type} ${paths.join(", ")}: ${request} matches ${want ?? "nothing"}`, () => {
      const rules = new PathRules<string>();
      for (const path of paths) {
        if (type === "Exact") rules.addExact(path, path);
        else rules.addPrefix(path, path);
      }
      assert.equal(rules.find(request)?.route, want);
    });
  }

  test("Exact wins over Prefix of the same path", () => {
    const rules = new PathRules<string>();
    rules.addPrefix("/foo", "prefix");
    rules.addExact("/foo", "exact");
    assert.equal(rules.find("/foo")?.route, "exact");
    assert.equal(rules.find("/foo/")?.route, "prefix");
  });

  test("regular expressions come after Exact and before Prefix, the longest first", () => {
    const rules = new PathRules<string>();
    rules.addPrefix("/api", "prefix");
    rules.addRegex("/api/v\\d+", "short");
    rules.addRegex("/api/v\\d+/(.*)", "long");
    rules.addExact("/api/v1/x", "exact");
    assert.equal(rules.find("/api/v1/x")?.route, "exact");
    assert.deepEqual(rules.find("/api/v1/y"), {
      route: "long",
      matched: "/api/v1/y",
      groups: ["/api/v1/y", "y"],
    });
    assert.equal(rules.find("/api/v1")?.route, "short");
    assert.equal(rules.find("/api/other")?.route, "prefix");
  });

  test("a path of very many elements costs no more than the deepest rule", () => {
    const rules = new PathRules<string>();
    rules.addPrefix("/a/b", "deep");
    rules.addRegex("/(x+)+y", "evil");
    assert.equal(rules.find(`/a/b${"/c".repeat(100_000)}`)?.route, "deep");
    assert.equal(rules.find(`/${"x".repeat(4_000)}`), undefined);
  });
});
