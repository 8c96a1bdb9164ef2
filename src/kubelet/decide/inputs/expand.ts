/**
 * `$(NAME)` in commands, arguments and values: replaced when the name is known, left as it stands
 * when it is not; `$$` stands for one `$`.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  let result = "";
  let at = 0;
  while (at < text.length) {
    const char = text[at]!;
    if (char !== "$" || at + 1 >= text.length) {
      result += char;
      at += 1;
      continue;
    }
    const next = text[at + 1];
    const close = next === "(" ? text.indexOf(")", at + 2) : -1;
    if (next === "$") {
      result += "$";
      at += 2;
    } else if (close >= 0) {
      const name = text.slice(at + 2, close);
      result += lookUp(name) ?? `$(${name})`;
      at = close + 1;
    } else if (next === "(") {
      result += "$(";
      at += 2;
    } else {
      result += `$${next}`;
      at += 2;
    }
  }
  return result;
}
