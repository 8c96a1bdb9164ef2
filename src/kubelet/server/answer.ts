/** What a route of the kubelet's server answers with. */
export type KubeletAnswer =
  | { readonly form: "text"; readonly code: number; readonly text: string; readonly type?: string }
  /** Sent as it comes, as fast as the client reads. A chunk is sent before the next one is asked for. */
  | { readonly form: "stream"; readonly chunks: AsyncIterable<Uint8Array> };

export function textAnswer(code: number, text: string): KubeletAnswer {
  return { form: "text", code, text };
}

export function jsonAnswer(value: unknown, code = 200): KubeletAnswer {
  return { form: "text", code, text: `${JSON.stringify(value)}\n`, type: "application/json" };
}
