/** An error in the server's words. */
export function Problem({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text === "") return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
