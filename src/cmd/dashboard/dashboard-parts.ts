/** What `k8ts dashboard` and the dashboard of `k8ts up` share: the built front end and new secrets. */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { readWebFiles, type WebFile } from "#dashboard/web-files.ts";

const SECRET_BYTES = 32;

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Reads the files once, when they are first asked for. */
export function builtWebFiles(): () => ReadonlyMap<string, WebFile> {
  let files: ReadonlyMap<string, WebFile> | undefined;
  return () => {
    files ??= readWebFiles(fileURLToPath(new URL("web/", import.meta.url)));
    return files;
  };
}
