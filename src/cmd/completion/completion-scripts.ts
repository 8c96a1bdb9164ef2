/** Completion for the shells that people use. The scripts know all commands: completing starts nothing. */

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** With their dashes. */
  readonly flags: readonly string[];
}

export const COMPLETION_SCRIPTS = { bash, zsh, fish } as const;

function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ name, flags }) => `    ${name}) words="${flags.join(" ")}" ;;`);
  return `# bash completion for k8ts
_k8ts() {
  local word=\${COMP_WORDS[COMP_CWORD]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")}"
  else case \${COMP_WORDS[1]} in
${cases.join("\n")}
  esac; fi
  COMPREPLY=()
  case $COMP_CWORD:$word in 1:* | *:-*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;; esac
}
complete -o default -F _k8ts k8ts
`;
}

function zsh(commands: readonly CompletedCommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(" ")} ;;`);
  return `#compdef k8ts
_k8ts() {
  local -a commands
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if [[ $words[CURRENT] != -* ]]; then
    _files
    return
  fi
  case $words[2] in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = "_k8ts" ]; then _k8ts; else compdef _k8ts k8ts; fi
`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, flags }) => [
    `complete -c k8ts -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...flags.map(
      (flag) =>
        `complete -c k8ts -n '__fish_seen_subcommand_from ${name}' -l ${flag.replace(/^--/, "")}`,
    ),
  ]);
  return `# fish completion for k8ts\n${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
