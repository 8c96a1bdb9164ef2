/**
 * The API's documentation, from the file that the build makes: beside the bundle, or among the
 * generated sources. Without it everything works but has no descriptions.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type Descriptions, NO_DESCRIPTIONS } from "#api/openapi/definition.ts";
import { descriptionsFrom } from "#api/openapi/descriptions.ts";
import { codeOf } from "#lib/caught.ts";

const PLACES = ["./descriptions.gz", "../../api/generated/descriptions.gz"];

export function readDescriptions(): Descriptions {
  for (const place of PLACES) {
    try {
      const packed = readFileSync(new URL(place, import.meta.url));
      return descriptionsFrom(gunzipSync(packed));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
  return NO_DESCRIPTIONS;
}
