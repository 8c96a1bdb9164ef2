/** Starts a worker thread: from the build, where each has a file of its own, or from its source. */
import { Worker } from "node:worker_threads";

/** `name` is that of the thread, and of its file in the build. */
export function startWorker(name: string, source: URL): Worker {
  const options = { name };
  const isBuilt = !import.meta.url.endsWith(".ts");
  if (isBuilt) return new Worker(new URL(`./${name}.js`, import.meta.url), options);
  if ((process.features as { typescript?: unknown }).typescript) return new Worker(source, options);
  // Older Node versions need tsx to strip the types.
  const script = `import("tsx/esm/api").then((tsx) => (tsx.register(), import("${source}")))`;
  return new Worker(script, { ...options, eval: true });
}
