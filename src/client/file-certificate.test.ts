import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { FileCertificate } from "./file-certificate.ts";

test("a renewed certificate is taken up, in time and after a refusal", async () => {
  const clock = new VirtualClock(0);
  const pair = (text: string) => ({ certPem: text, keyPem: text });
  let file: (() => ReturnType<typeof pair>) | undefined = () => pair("1");
  const certificate = new FileCertificate({
    clock,
    read() {
      if (file === undefined) throw new Error("away");
      return file();
    },
  });
  const shown = async () => (await certificate.get()).certificate?.certPem;
  file = () => pair("2");
  assert.equal(await shown(), "1");
  await clock.advance(5 * 60_000);
  assert.equal(await shown(), "2");
  file = undefined;
  certificate.forget();
  assert.equal(await shown(), "2");
  file = () => pair("3");
  assert.equal(await shown(), "2");
  certificate.forget();
  assert.equal(await shown(), "3");
});
