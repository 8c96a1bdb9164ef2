import { expect, test } from "vitest";
import { containerHash } from "./container-hash.ts";

const rows = [
  { name: "ASCII", container: { name: "web", image: "web:1" }, hash: "ffda1e2a" },
  { name: "UTF-8 of several bytes", container: { name: "wéb", image: "web:1" }, hash: "be76c9ff" },
];

for (const { name, container, hash } of rows) {
  test(`the hash of a container's name and image is FNV-1a: ${name}`, () => {
    expect(containerHash(container)).toBe(hash);
  });
}
