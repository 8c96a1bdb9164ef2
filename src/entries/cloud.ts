/**
 * `k8ts/cloud`: what a cloud provider of your own needs. A module exports `createProvider`, and
 * `k8ts cloud-controller-manager --cloud-provider ./my-provider.js` runs it; `providerChecks` are the
 * tests that every provider has to pass.
 */
export type {
  CloudProvider,
  CreateProvider,
  InstanceMetadata,
  Instances,
  LoadBalancers,
  ProviderContext,
  Route,
  Routes,
  Zone,
  Zones,
} from "#cloud/provider.ts";
export { type Check, type ContractOptions, providerChecks } from "#cloud/provider-contract.ts";
