import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { builtInControllers, optInControllers } from "./controllers.ts";
import {
  controllerNames,
  offByDefault,
  selectControllers,
  selectionOf,
  whyAbsent,
} from "./select.ts";

const JOB = "job-controller";
const TTL = "ttl-controller";
const CLEANER = "token-cleaner-controller";
const rows: { asked: readonly string[]; want: readonly string[] }[] = [
  { asked: ["*"], want: [JOB, TTL] },
  { asked: ["*", "tokencleaner"], want: [JOB, TTL, CLEANER] },
  { asked: ["*", "-ttl-controller"], want: [JOB] },
  { asked: ["-ttl", "*", CLEANER], want: [JOB, CLEANER] },
  { asked: ["job"], want: [JOB] },
  { asked: ["-job", "job", "*"], want: [TTL] },
];

describe("--controllers", () => {
  for (const { asked, want } of rows) {
    test(asked.join(","), () => {
      const selection = selectionOf(asked);
      assert.deepEqual([JOB, TTL, CLEANER].filter(selection.has), want);
      assert.deepEqual(selection.unknown, []);
    });
  }

  test("unknown controller names are reported", () => {
    assert.deepEqual(selectionOf(["*", "-nodeipam", "jobs", "-pods"]).unknown, ["jobs", "pods"]);
  });

  test("what is on by default runs once its flags are there, and the rest says why not", () => {
    const all = [...builtInControllers({}), ...optInControllers];
    const built = new Set(all.map(({ name }) => name));
    const absent = controllerNames.filter((name) => !built.has(name));
    const missingFlag = absent.filter((name) => whyAbsent(name).startsWith("a flag"));
    assert.deepEqual(missingFlag, [
      "bootstrap-signer-controller",
      "certificatesigningrequest-signing-controller",
      "default-storageclass-controller",
      "garbage-collector-controller", // made of what discovery finds, not from the table
      "legacy-serviceaccount-token-cleaner-controller",
      "node-ipam-controller",
      "node-lifecycle-controller",
      "root-ca-certificate-publisher-controller",
      "serviceaccount-token-controller",
    ]);
    assert.equal(absent.length - missingFlag.length, 9);
    assert.equal(whyAbsent("service-lb-controller"), "it is for the cloud controller manager");
    assert.deepEqual(offByDefault.filter(selectionOf(["*"]).has), []);
  });

  test("every controller has a name that can be asked for", () => {
    const names = builtInControllers({}).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => selectionOf([name]).unknown.length > 0),
      [],
    );
    assert.deepEqual(
      selectControllers(builtInControllers({}), selectionOf(["deployment"])).map((c) => c.name),
      ["deployment-controller"],
    );
  });
});
