/** Something in the scheduler's configuration that cannot be; the message is for the person. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
