/** The providers that come with k8ts. A new one is a folder and a line here. */
import type { CreateProvider } from "../provider.ts";
import { startLocal } from "./local/start-local.ts";
import { startSimulated } from "./simulated/start-simulated.ts";

export const cloudProviders: Readonly<Record<string, CreateProvider>> = {
  local: startLocal,
  simulated: startSimulated,
};
