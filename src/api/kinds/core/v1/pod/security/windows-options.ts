/** What only pods on Windows have: accounts, and containers that are processes of the host. */
import type { PodSpec, WindowsSecurityContextOptions } from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { type AnyContainer, placedContainers, someContainer } from "../containers/containers.ts";
import type { PodRules } from "../rules.ts";

const CREDENTIAL_SPEC_KIB_MAX = 64;
const DOMAIN_MAX = 256;
const USER_MAX = 104;
const NETBIOS_NAME = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const DNS_NAME = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;

export function validateWindowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName } = options;
  if (name !== undefined) {
    const at = path.child("gmsaCredentialSpecName");
    for (const fault of isDns1123Subdomain(name)) errors.push(invalid(at, name, fault));
  }
  if (spec !== undefined) {
    const at = path.child("gmsaCredentialSpec");
    if (spec === "") {
      errors.push(invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"));
    } else if (utf8Length(spec) > CREDENTIAL_SPEC_KIB_MAX * 1024) {
      const detail = `gmsaCredentialSpec size must be under ${CREDENTIAL_SPEC_KIB_MAX} KiB`;
      errors.push(invalid(at, spec, detail));
    }
  }
  if (runAsUserName !== undefined) {
    const at = path.child("runAsUserName");
    for (const fault of userNameFaults(runAsUserName)) {
      errors.push(invalid(at, runAsUserName, fault));
    }
  }
}

/** Either all containers of a pod are processes of the host, or none is. */
export function validateHostProcesses(
  spec: PodSpec,
  { allowPrivileged }: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const podHostProcess = spec.securityContext?.windowsOptions?.hostProcess;
  if (podHostProcess === undefined && !someContainer(spec, hasWindowsOptions)) return;
  let count = 0;
  let hostProcesses = 0;
  for (const { container, path: at } of placedContainers(spec, path)) {
    count++;
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (podHostProcess !== undefined && own !== undefined && podHostProcess !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${podHostProcess}`;
      const fieldPath = at.child("securityContext", "windowsOptions", "hostProcess");
      errors.push(invalid(fieldPath, own, detail));
    }
    if (own ?? podHostProcess) hostProcesses++;
  }
  if (hostProcesses === 0) return;
  if (hostProcesses !== count) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    errors.push(invalid(path, "", detail));
  }
  if (spec.hostNetwork !== true) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    errors.push(invalid(path.child("hostNetwork"), false, detail));
  }
  if (!allowPrivileged) {
    errors.push(forbidden(path, "hostProcess containers are disallowed by cluster policy"));
  }
}

function hasWindowsOptions({ securityContext }: AnyContainer): boolean {
  return securityContext?.windowsOptions !== undefined;
}

/** `USER` or `DOMAIN\USER`. */
function userNameFaults(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (CONTROL.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1)!;
  const domain = parts.length === 2 ? parts[0]! : undefined;

  const faults: string[] = [];
  if (domain !== undefined && utf8Length(domain) >= DOMAIN_MAX) {
    faults.push(`runAsUserName's Domain length must be under ${DOMAIN_MAX} characters`);
  }
  if (domain !== undefined && !NETBIOS_NAME.test(domain) && !DNS_NAME.test(domain)) {
    faults.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user === "") faults.push("runAsUserName's User cannot be empty");
  else if (utf8Length(user) > USER_MAX) {
    faults.push(`runAsUserName's User length must not be longer than ${USER_MAX} characters`);
  }
  if (/^[. ]+$/.test(user)) {
    faults.push("runAsUserName's User cannot contain only periods or spaces");
  }
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    faults.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  }
  return faults;
}
