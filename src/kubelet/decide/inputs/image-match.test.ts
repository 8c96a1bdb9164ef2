import assert from "node:assert/strict";
import { test } from "vitest";
import { matchesImage } from "./image-match.ts";

const rows: [pattern: string, image: string, want: boolean][] = [
  ["*.example.com", "a.example.com/app", true],
  ["*.example.com", "a.b.example.com/app", false],
  ["*.*.example.com", "a.b.example.com/app", true],
  ["example.com:5000", "example.com/app", false],
  ["example.com:5000/team", "example.com:5000/team/app", true],
  ["example.com/team", "example.com/other", false],
  ["https://index.docker.io/v1/", "index.docker.io/library/busybox", true],
  ["app*.example.com", "app1.example.com/x", true],
];
test("matchImages: host by parts, port, and path as prefix", () => {
  for (const [pattern, image, want] of rows) {
    assert.equal(matchesImage(pattern, image), want, `${pattern} ${image}`);
  }
});
