import assert from "node:assert/strict";
import { test } from "vitest";
import { rewriteHtml, rewriteUrl } from "./rewrite-html.ts";

const place = { prefix: "/p/proxy", targetHost: "10.0.0.1:80", ownHost: "api:6443" };

const urls = [
  ["/a/?x#y", "/p/proxy/a/?x#y"],
  ["http://10.0.0.1:80/a", "/p/proxy/a"],
  ["https://api:6443/a", "https://api:6443/p/proxy/a"],
  ["https://api:6443/p/proxy/a", "https://api:6443/p/proxy/a"],
  ["http://elsewhere/a", "http://elsewhere/a"],
  ["a/b", "a/b"],
  ["/p/proxy/a", "/p/proxy/a"],
  ["mailto:a@b", "mailto:a@b"],
  ["", ""],
] as const;
for (const [from, to] of urls) {
  test(`API server proxy: url ${from}`, () => assert.equal(rewriteUrl(from, place), to));
}

const pages = [
  ['<a href="/x">y</a>', '<a href="/p/proxy/x">y</a>'],
  ["<img alt='/x' src='/x'>", "<img alt='/x' src='/p/proxy/x'>"],
  ["<FORM ACTION=/x>", "<FORM ACTION=/p/proxy/x>"],
  ['<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'],
  [
    '<script src="/s.js">"<a href=\\"/x\\">"</script><a href="/x">',
    '<script src="/p/proxy/s.js">"<a href=\\"/x\\">"</script><a href="/p/proxy/x">',
  ],
  ['<p title="/x">/x</p>', '<p title="/x">/x</p>'],
] as const;
for (const [from, to] of pages) {
  test(`API server proxy: page ${from}`, () =>
    assert.equal(rewriteHtml(Buffer.from(from), undefined, place)?.toString(), to));
}
