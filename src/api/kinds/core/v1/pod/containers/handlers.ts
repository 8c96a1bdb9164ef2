/** Probes and lifecycle hooks: what is run or asked, when, and with which patience. */
import type {
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  PodSpec,
  Probe,
  ProbeHandler,
} from "#api/generated/core.v1.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isHttpHeaderName, isPortName, isPortNumber } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";
import type { AnyContainer } from "./containers.ts";
import { LINUX_STOP_SIGNALS, WINDOWS_STOP_SIGNALS } from "./stop-signals.ts";

const HTTP_SCHEMES = ["HTTP", "HTTPS"];

/** For containers that run for long; the others may have none of these. */
export function validateHandlers(
  { lifecycle, livenessProbe, readinessProbe, startupProbe }: AnyContainer,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (lifecycle !== undefined) validateLifecycle(lifecycle, spec, path.child("lifecycle"), errors);
  if (livenessProbe !== undefined) {
    validateRestartProbe(livenessProbe, path.child("livenessProbe"), errors);
  }
  if (readinessProbe !== undefined) {
    const at = path.child("readinessProbe");
    const { terminationGracePeriodSeconds: grace } = readinessProbe;
    validateProbe(readinessProbe, at, errors);
    if (grace !== undefined) {
      const detail = "must not be set for readinessProbes";
      errors.push(invalid(at.child("terminationGracePeriodSeconds"), grace, detail));
    }
  }
  if (startupProbe !== undefined) {
    validateRestartProbe(startupProbe, path.child("startupProbe"), errors);
  }
}

/** A probe whose failure restarts the container: one success says all. */
function validateRestartProbe(probe: Probe, path: Path, errors: FieldError[]): void {
  validateProbe(probe, path, errors);
  const { successThreshold = 0 } = probe;
  if (successThreshold !== 1) {
    errors.push(invalid(path.child("successThreshold"), successThreshold, "must be 1"));
  }
}

const PROBE_COUNTS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function validateProbe(probe: Probe, path: Path, errors: FieldError[]): void {
  validateHandler(probe, undefined, path, errors);
  for (const field of PROBE_COUNTS) {
    const value = probe[field] ?? 0;
    if (value < 0) {
      errors.push(invalid(path.child(field), value, "must be greater than or equal to 0"));
    }
  }
  const { terminationGracePeriodSeconds: grace } = probe;
  if (grace !== undefined && grace <= 0) {
    errors.push(
      invalid(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0"),
    );
  }
}

function validateLifecycle(
  { postStart, preStop, stopSignal }: Lifecycle,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  const graceSeconds = spec.terminationGracePeriodSeconds;
  if (postStart !== undefined) {
    validateHandler(postStart, graceSeconds, path.child("postStart"), errors);
  }
  if (preStop !== undefined) validateHandler(preStop, graceSeconds, path.child("preStop"), errors);
  if (stopSignal !== undefined) {
    validateStopSignal(stopSignal, spec, path.child("stopSignal"), errors);
  }
}

function validateStopSignal(
  signal: string,
  { os }: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (os === undefined) {
    const detail = "may not be set for containers with empty `spec.os.name`";
    errors.push(forbidden(path, detail));
    return;
  }
  const signals = { windows: WINDOWS_STOP_SIGNALS, linux: LINUX_STOP_SIGNALS };
  const known = ownValue(signals, os.name);
  if (known !== undefined && !known.includes(signal)) {
    errors.push(notSupported(path, signal, known));
  }
}

/** The ways to handle, in the order in which a second one is found to be too many. */
const ACTIONS = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

function validateHandler(
  handler: ProbeHandler & LifecycleHandler,
  graceSeconds: number | undefined,
  path: Path,
  errors: FieldError[],
): void {
  const given = ACTIONS.filter((action) => handler[action] !== undefined);
  if (given.length === 0) errors.push(required(path, "must specify a handler type"));
  for (const [i, action] of given.entries()) {
    const at = path.child(action);
    if (i === 0) validateAction(handler, graceSeconds, at, errors);
    else errors.push(forbidden(at, "may not specify more than 1 handler type"));
  }
}

function validateAction(
  { exec, httpGet, tcpSocket, grpc, sleep }: ProbeHandler & LifecycleHandler,
  graceSeconds: number | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (exec !== undefined) {
    if ((exec.command ?? []).length === 0) errors.push(required(path.child("command"), ""));
  } else if (httpGet !== undefined) validateHttpGet(httpGet, path, errors);
  else if (tcpSocket !== undefined) validatePort(tcpSocket.port, path.child("port"), errors);
  else if (grpc !== undefined) validatePort(grpc.port, path.child("port"), errors);
  else if (sleep !== undefined && graceSeconds !== undefined) {
    if (sleep.seconds >= 0 && sleep.seconds <= graceSeconds) return;
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`;
    errors.push(invalid(path, sleep.seconds, detail));
  }
}

function validateHttpGet(
  { path: urlPath = "", port, scheme = "", httpHeaders = [] }: HTTPGetAction,
  path: Path,
  errors: FieldError[],
): void {
  if (urlPath === "") errors.push(required(path.child("path"), ""));
  validatePort(port, path.child("port"), errors);
  if (!HTTP_SCHEMES.includes(scheme)) {
    errors.push(notSupported(path.child("scheme"), scheme, HTTP_SCHEMES));
  }
  for (const { name } of httpHeaders) {
    for (const fault of isHttpHeaderName(name)) {
      errors.push(invalid(path.child("httpHeaders"), name, fault));
    }
  }
}

function validatePort(port: number | string, path: Path, errors: FieldError[]): void {
  const faults = typeof port === "number" ? isPortNumber(port) : isPortName(port);
  for (const fault of faults) errors.push(invalid(path, port, fault));
}
