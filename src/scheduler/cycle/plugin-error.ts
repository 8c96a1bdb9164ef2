/** Errors of plugins name the plugin and what it was asked for, in upstream's words. */

/** `what` is for example `running PreBind plugin "VolumeBinding"`. */
export function pluginError(what: string, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return new Error(`${what}: ${message}`, { cause: error });
}

/** Runs one hook of a plugin. */
export function runHook<T>(what: string, hook: () => T): T {
  try {
    return hook();
  } catch (error) {
    throw pluginError(what, error);
  }
}
