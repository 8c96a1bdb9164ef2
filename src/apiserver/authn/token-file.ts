/** The static tokens of `--token-auth-file`: `token,user,uid,"group1,group2"` per line. */
import type { User } from "../request/request.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { authenticated } from "./users.ts";

/** Throws on a file that cannot be read as tokens; `path` is for the message. */
export function createTokenFileAuthenticator(text: string, path: string): TokenAuthenticator {
  const users = new Map<string, User>();
  for (const record of parseCsv(text, path)) {
    if (record.length < 3) {
      throw new Error(
        `token file '${path}' must have at least 3 columns (token, user name, user uid), ` +
          `found ${record.length}`,
      );
    }
    const [token = "", name = "", uid = "", groups] = record;
    if (token === "") continue;
    users.set(
      token,
      authenticated({ name, ...(uid === "" ? {} : { uid }), groups: groups?.split(",") ?? [] }),
    );
  }
  return {
    name: "token-file",
    authenticateToken(token) {
      const user = users.get(token);
      return user === undefined ? { outcome: "unknown" } : { outcome: "known", user };
    },
  };
}

/** RFC 4180: fields may be quoted, quotes inside are doubled, empty lines do not count. */
function parseCsv(text: string, path: string): string[][] {
  const records: string[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  let record: string[] = [];
  while (field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) throw new Error(`token file '${path}': bare " in non-quoted-field`);
    const [, quoted, bare = "", end] = match;
    record.push(quoted?.replaceAll('""', '"') ?? bare);
    if (end === ",") continue;
    if (record.length > 1 || record[0] !== "") records.push(record);
    record = [];
    if (end === "") break;
  }
  if (record.length > 0) records.push([...record, ""]); // the text ends with a comma
  return records;
}
