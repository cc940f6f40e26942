import type { CompletionNode } from './completion-tree.ts'

/** Quotes text with single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const words = (list: readonly string[]): string => quoted(list.join(' '))

/** A script for bash 3.2 and later, without bash-completion. Indented with spaces, because a pasted tab would trigger completion. */
export function bashCompletion(tree: readonly CompletionNode[]): string {
  const taking = tree.flatMap(({ path, options }) =>
    options.flatMap((option) => (option.takesValue ? option.names.map((name) => quoted(`${path}:${name}`)) : [])),
  )
  const values = tree.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      option.choices.length > 0
        ? [`    ${option.names.map((name) => quoted(`${path}:${name}`)).join('|')}) words=${words(option.choices)} ;;`]
        : [],
    ),
  )
  const commands = tree
    .filter((node) => node.path !== '')
    .map(({ path }) => quoted(path))
    .join('|')
  const cases = tree.map(({ path, commands: below, options, choices }) => {
    const after = [...below.map(({ name }) => name), ...choices]
    return `    ${quoted(path)}) commands=${words(after)} options=${words(options.flatMap(({ names }) => names))} ;;`
  })
  return `# Completion of kp for bash. Printed by kp completion bash.
_kp() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' word words='' commands='' options='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      -*)
        case "$path:$word" in
          ${taking.join('|')})
            [[ $i -eq $((COMP_CWORD - 1)) ]] || ((i++)) ;;
        esac ;;
      *)
        case "\${path:+$path }$word" in
          ${commands}) path="\${path:+$path }$word" ;;
        esac ;;
    esac
  done
  case "$path:$prev" in
${values.join('\n')}
    ${taking.join('|')}) return ;;
  esac
  if [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$path" in
${cases.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n "$commands" ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  fi
}
complete -o default -F _kp kp
`
}
