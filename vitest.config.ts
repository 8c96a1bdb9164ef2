import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Files share a worker's module graph (seven times faster than one process a file), so a test must
// leave nothing behind: no open timers, no changed globals.
export default defineConfig({
  // What users import, unbuilt.
  resolve: {
    alias: {
      "k8ts/cloud": fileURLToPath(new URL("src/entries/cloud.ts", import.meta.url)),
      "k8ts/controller": fileURLToPath(new URL("src/entries/controller.ts", import.meta.url)),
      "k8ts/scheduler": fileURLToPath(new URL("src/entries/scheduler.ts", import.meta.url)),
      "k8ts/testing": fileURLToPath(new URL("src/entries/testing.ts", import.meta.url)),
    },
  },
  test: {
    include: ["{src,tools,bench,test,examples,web}/**/*.test.ts"],
    // Not threads: a program that one file starts would have copies of the files and sockets that another
    // has open, until it runs.
    pool: "forks",
    isolate: false,
    // Many files wait for programs that they started: two at a time, also on a machine with two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    passWithNoTests: false,
    globalSetup: "test/temporary-folder.ts",
    deps: { interopDefault: false }, // CommonJS packages look as they do to Node
  },
});
