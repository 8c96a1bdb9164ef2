import { describe, expect, test } from "vitest";
import { OwnStatusWrites } from "./own-status-writes.ts";

type Step = readonly ["watch" | "answer", string];

describe("pods/status writes of a simulated node", () => {
  const rows: readonly { name: string; steps: readonly Step[]; others: readonly string[] }[] = [
    {
      name: "the answer before the watch event: no change by others",
      steps: [
        ["answer", "5"],
        ["watch", "5"],
      ],
      others: [],
    },
    {
      name: "the watch event before the answer: no change by others",
      steps: [
        ["watch", "5"],
        ["answer", "5"],
      ],
      others: [],
    },
    {
      name: "a later change that the watch shows before the answer is reported with the answer",
      steps: [
        ["watch", "5"],
        ["watch", "6"],
        ["answer", "5"],
      ],
      others: ["answer 5"],
    },
    {
      name: "a later change that the watch shows after the answer is reported with its event",
      steps: [
        ["answer", "5"],
        ["watch", "5"],
        ["watch", "6"],
      ],
      others: ["watch 6"],
    },
    {
      name: "a watch event without a write is a change by others",
      steps: [
        ["answer", "5"],
        ["watch", "5"],
        ["watch", "7"],
        ["watch", "8"],
      ],
      others: ["watch 7", "watch 8"],
    },
  ];
  for (const { name, steps, others } of rows) {
    test(name, () => {
      const writes = new OwnStatusWrites();
      writes.begin("uid");
      const found = steps.filter(([source, revision]) =>
        source === "watch" ? !writes.isOwn("uid", revision) : writes.end("uid", revision),
      );
      expect(found.map((step) => step.join(" "))).toEqual(others);
    });
  }

  test("a write that failed (409) is forgotten: the next watch event is a change by others", () => {
    const writes = new OwnStatusWrites();
    writes.begin("uid");
    writes.drop("uid");
    expect(writes.isOwn("uid", "9")).toBe(false);
  });
});
