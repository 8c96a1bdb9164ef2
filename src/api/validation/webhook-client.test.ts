import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { formatFieldError } from "./format-field-error.ts";
import { Path } from "./path.ts";
import { validateWebhookClient, type WebhookClient } from "./webhook-client.ts";

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

describe("where a webhook is called", () => {
  const FORM = "; desired format: https://host[/path]";
  const service = { namespace: "n", name: "s", port: 443 };
  const rows: readonly { name: string; client: WebhookClient; faults: readonly string[] }[] = [
    { name: "an https URL is accepted", client: { url: "https://h:8443/a/b" }, faults: [] },
    {
      name: "a service with a path is accepted",
      client: { service: { ...service, path: "/a/b/" } },
      faults: [],
    },
    {
      name: "a URL together with a service is refused",
      client: { url: "https://h", service },
      faults: ["c: Required value: exactly one of url or service is required"],
    },
    {
      name: "a URL with scheme http, user, query and fragment is refused for each",
      client: { url: "http://u:p@/p?q=1#f" },
      faults: [
        `c.url: Invalid value: "http": 'https' is the only allowed URL scheme${FORM}`,
        `c.url: Invalid value: "": host must be specified${FORM}`,
        'c.url: Invalid value: "u:p": user information is not permitted in the URL',
        'c.url: Invalid value: "f": fragments are not permitted in the URL',
        'c.url: Invalid value: "q=1": query parameters are not permitted in the URL',
      ],
    },
    {
      name: "no URL at all",
      client: { url: "https://h:port" },
      faults: [
        `c.url: Required value: url must be a valid URL: parse "https://h:port": invalid port ":port" after host${FORM}`,
      ],
    },
    {
      name: "a service without namespace, port 0",
      client: { service: { namespace: "", name: "s", port: 0 } },
      faults: [
        "c.service.name: Required value",
        "c.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
      ],
    },
    {
      name: "a path of empty steps",
      client: { service: { ...service, path: "//" } },
      faults: ['c.service.path: Invalid value: "//": segment[0] may not be empty'],
    },
    {
      name: "a path of odd steps",
      client: { service: { ...service, path: "xa//B" } },
      faults: [
        `c.service.path: Invalid value: "xa//B": must start with a '/'`,
        'c.service.path: Invalid value: "xa//B": segment[1] may not be empty',
        `c.service.path: Invalid value: "xa//B": segment[2]: ${SUBDOMAIN_RULE}`,
      ],
    },
  ];
  for (const { name, client, faults } of rows) {
    test(name, () =>
      assert.deepEqual(
        validateWebhookClient(client, Path.of("c")).map(
          (error) => `${error.field}: ${formatFieldError(error)}`,
        ),
        faults,
      ),
    );
  }
});
