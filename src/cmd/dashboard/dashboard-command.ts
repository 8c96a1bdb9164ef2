/** `k8ts dashboard`: the web dashboard for the user of a kubeconfig, on this machine only. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { type Connection, connectionFromFile, KubeconfigError } from "#client/kubeconfig.ts";
import { ApiAccess } from "#dashboard/api-access.ts";
import { startDashboardServer } from "#dashboard/dashboard-server.ts";
import { LinkLogin } from "#dashboard/login/link-login.ts";
import { Sessions } from "#dashboard/login/sessions.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { FlagError, parseFlags } from "../flags/parse-flags.ts";
import { type Flags, textOf } from "../flags/read-flags.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { builtWebFiles, newSecret } from "./dashboard-parts.ts";

interface Config {
  readonly connection: Connection;
  readonly port: number;
  readonly opensBrowser: boolean;
  readonly log: LogFlags;
}

export const dashboardCommand: Command = {
  name: "dashboard",
  summary: "open the web dashboard",
  flags: () => dashboardParser().options,
  run: async (args, signal) => {
    const parsed = parseFlags(dashboardParser(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { connection, port, opensBrowser, log } = parsed.config;
    const surroundings = processSurroundings(log);
    const { clock } = surroundings;
    using sessions = new Sessions({ clock, newSecret });
    using api = new ApiAccess(connection);
    const login = new LinkLogin({ api, clock, newSecret });
    const options = { ...surroundings, login, sessions, files: builtWebFiles(), port };
    await using server = await startDashboardServer(options, signal);
    // After `#` the token is in no request line and no Referer.
    const url = `${server.origin}/#token=${login.newToken()}`;
    process.stdout.write(`The dashboard of ${connection.server} is at\n\n  ${url}\n\n`);
    process.stdout.write("The link works once, within five minutes. Ctrl+C ends the dashboard.\n");
    if (opensBrowser) openBrowser(url);
    void api.connectAhead(signal);
    await untilAborted(signal);
    return 0;
  },
};

function dashboardParser(): Parser {
  return addLogFlags(new Parser("k8ts dashboard"))
    .description("Opens the web dashboard with the rights of a kubeconfig's user.")
    .option("--kubeconfig <file>", "instead of $KUBECONFIG, ~/.kube/config or that of `k8ts up`")
    .option("--context <name>", "instead of the kubeconfig's current one")
    .option("--port <port>", "on 127.0.0.1; 0 takes a free one", "0")
    .option("--no-browser", "only print the link")
    .addHelpText("after", "\nExamples:\n  k8ts dashboard\n  k8ts dashboard --context staging");
}

function configOf(flags: Flags): Config {
  const context = textOf(flags, "context");
  const text = (name: string): string => textOf(flags, name) ?? "";
  const port = Number(text("port"));
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new FlagError(`--port: ${text("port")} is no port`);
  const file = kubeconfigFile(textOf(flags, "kubeconfig"));
  try {
    const connection = connectionFromFile(file, context === undefined ? {} : { context });
    if (!connection.server.startsWith("https://"))
      throw new FlagError(`${file}: the server ${connection.server} is not reached by https`);
    return {
      connection,
      port,
      opensBrowser: flags.browser !== false,
      log: logFlagsOf({ v: Number(flags.v), loggingFormat: text("logging-format") }),
    };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new FlagError(error.message);
    throw error;
  }
}

/** The first that exists, in kubectl's order; without any, that of the cluster that `up` runs. */
function kubeconfigFile(given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  const named = (process.env.KUBECONFIG ?? "").split(delimiter).filter(Boolean);
  const candidates = [
    ...named,
    join(homedir(), ".kube", "config"),
    join(defaultDataDir(), "kubeconfig"),
  ];
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new FlagError("no kubeconfig was found: give --kubeconfig, or run `k8ts up` first");
}

/** Without a desktop nothing opens: the link was printed. */
function openBrowser(url: string): void {
  if (process.platform === "linux" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
