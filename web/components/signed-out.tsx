/** Shown without a session, or when the cluster cannot be reached. */
export function SignedOut({ problem }: { readonly problem?: string }) {
  return (
    <main class="notice">
      <h1>{problem === undefined ? "No session" : "The cluster does not answer"}</h1>
      {problem === undefined ? (
        <p>
          The link works once. Run <code>k8ts dashboard</code> and open the link that it prints.
        </p>
      ) : (
        <p role="alert">{problem}</p>
      )}
    </main>
  );
}
