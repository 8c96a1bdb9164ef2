/** `--etcd-servers-overrides`: `group/resource#url;url`, several with commas between them. */
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { badValue } from "../../flags/parse-flags.ts";

export interface EtcdOverride {
  readonly group: string;
  readonly plural: string;
  readonly servers: readonly string[];
}

const FORM =
  "must be of format: group/resource#servers, where servers are URLs, semicolon separated";

export function etcdOverrides(text: string, before: readonly EtcdOverride[]): EtcdOverride[] {
  return [...before, ...text.split(",").map(overrideOf)];
}

function overrideOf(text: string): EtcdOverride {
  const [place = "", list = "", ...more] = text.split("#");
  const [group = "", plural = "", ...deeper] = place.split("/");
  const servers = list.split(";").filter((url) => url !== "");
  const areUrls = servers.every((url) => URL.canParse(url) && /^https?:/.test(url));
  if (plural === "" || more.length > 0 || deeper.length > 0 || servers.length === 0 || !areUrls) {
    throw badValue(FORM);
  }
  const isKnown = builtInKinds.some((kind) => kind.group === group && kind.names.plural === plural);
  if (!isKnown) throw badValue(`${goQuote(place)} is no resource of this server`);
  return { group, plural, servers };
}
