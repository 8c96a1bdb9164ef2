/**
 * The environment that every expression of Kubernetes 1.36 has. What it has now and what the
 * version before had is the same, so that new expressions and stored ones are compiled alike.
 */

import { createEnvironment } from "#api/cel/environment.ts";
import { listsLibrary } from "#api/cel/libraries/lists.ts";
import { optionalsLibrary } from "#api/cel/libraries/optionals.ts";
import { regexLibrary } from "#api/cel/libraries/regular-expressions.ts";
import { setsLibrary } from "#api/cel/libraries/sets.ts";
import { standardLibrary } from "#api/cel/libraries/standard.ts";
import { stringsLibrary } from "#api/cel/libraries/strings.ts";
import { twoVariableLibrary } from "#api/cel/libraries/two-variable.ts";
import { lazy } from "#lib/lazy.ts";
import { cidrLibrary, ipLibrary } from "./libraries/addresses.ts";
import { authorizationLibrary } from "./libraries/authorization.ts";
import { formatLibrary } from "./libraries/formats.ts";
import { listFunctionsLibrary } from "./libraries/list-functions.ts";
import { quantityLibrary } from "./libraries/quantities.ts";
import { semverLibrary } from "./libraries/semantic-versions.ts";
import { urlLibrary } from "./libraries/urls.ts";

export const baseEnvironment = lazy(() =>
  createEnvironment({
    libraries: [
      standardLibrary,
      urlLibrary,
      regexLibrary,
      listFunctionsLibrary,
      authorizationLibrary,
      optionalsLibrary,
      quantityLibrary,
      stringsLibrary,
      setsLibrary,
      ipLibrary,
      cidrLibrary,
      formatLibrary,
      twoVariableLibrary,
      semverLibrary,
      listsLibrary,
    ],
    crossTypeComparisons: true,
    optionalSyntax: true,
    validatesLiterals: true,
  }),
);
