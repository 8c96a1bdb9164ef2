/** Asks the API server for its kinds, those of custom resources and aggregated servers included. */
import { type Discovery, type Resource, resourcesOf } from "../models/resources.ts";
import { callApi } from "./api.ts";

const ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export async function loadResources(): Promise<readonly Resource[]> {
  const [core, groups] = await Promise.all([
    callApi<Discovery>("/api", { accept: ACCEPT }),
    callApi<Discovery>("/apis", { accept: ACCEPT }),
  ]);
  return resourcesOf(core, groups);
}
