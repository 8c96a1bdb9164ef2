/** Shown without a session, or when the cluster cannot be reached. */
import { useState } from "preact/hooks";
import { loginWith } from "../state/session.ts";
import { Problem } from "./problem.tsx";

export type SignedOutReason =
  | { readonly why: "login"; readonly by: "link" | "token" }
  | { readonly why: "unreachable"; readonly problem: string };

export function SignedOut({ reason }: { readonly reason: SignedOutReason }) {
  return (
    <main class="notice">
      {reason.why === "unreachable" && (
        <>
          <h1>The cluster does not answer</h1>
          <p role="alert">{reason.problem}</p>
        </>
      )}
      {reason.why === "login" && reason.by === "link" && (
        <>
          <h1>No session</h1>
          <p>
            The link works once. Run <code>k8ts dashboard</code> and open the link that it prints.
          </p>
        </>
      )}
      {reason.why === "login" && reason.by === "token" && <TokenForm />}
    </main>
  );
}

function TokenForm() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | undefined>();
  const [isSending, setSending] = useState(false);
  const submit = async (): Promise<void> => {
    setSending(true);
    const refused = await loginWith(token.trim()).catch(String);
    if (refused === undefined) location.reload();
    else {
      setProblem(refused);
      setSending(false);
    }
  };
  return (
    <form
      class="login"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <h1>Sign in</h1>
      <label for="token">Token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        required
        value={token}
        onInput={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <Problem text={problem} />
      <button type="submit" class="primary" disabled={isSending}>
        Sign in
      </button>
      <p>
        Any bearer token that the API server accepts, such as that of a service account:{" "}
        <code>kubectl create token NAME</code>. You act with its rights.
      </p>
    </form>
  );
}
