/** PEM armour around DER bytes. */
export function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** The bytes of the first block. */
export function fromPem(text: string): Buffer {
  const block = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----/.exec(text);
  if (block === null) throw new Error("no PEM block");
  return Buffer.from(block[2]!, "base64");
}
