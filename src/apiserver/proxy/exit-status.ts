/** How a command ended, from what the kubelet says on the error stream to what clients expect. */
import type { Status } from "#api/generated/meta.v1.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";

const EXIT_CODE = "ExitCode";

/** `text`: a Status as JSON; an empty text means success. */
export function exitStatus(text: string): Status {
  if (text === "") return { metadata: {}, status: "Success" };
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch (error) {
    const why = `error stream protocol error: ${messageOf(error)} in ${JSON.stringify(text)}`;
    return internalErrorStatus(why);
  }
  if (status.status === "Success") return { metadata: {}, status: "Success" };
  if (status.status !== "Failure") {
    return internalErrorStatus("error stream protocol error: unknown error");
  }
  if (status.reason !== "NonZeroExitCode") return internalErrorStatus(status.message ?? "");
  const causes = status.details?.causes ?? [];
  const code = causes.find(({ reason }) => reason === EXIT_CODE)?.message ?? "";
  if (!/^\d{1,3}$/.test(code)) {
    return internalErrorStatus(`error stream protocol error: no ${EXIT_CODE} cause given`);
  }
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: EXIT_CODE, message: code }] },
  };
}
