/** Bootstrap tokens: `abcdef.0123456789abcdef`, an identifier and a secret. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

const PATTERN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** Undefined if it is none. */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = PATTERN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}
