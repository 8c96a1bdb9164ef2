import { defineConfig } from "vitest/config";

// Files share a worker's module graph (seven times faster than one process a file), so a test must
// leave nothing behind: no open timers, no changed globals.
export default defineConfig({
  test: {
    include: ["{src,tools,bench,test,examples}/**/*.test.ts"],
    pool: "threads",
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    passWithNoTests: false,
    deps: { interopDefault: false }, // CommonJS packages look as they do to Node
  },
});
