import type { CompletionNode } from './completion-tree.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
/** _describe separates name and summary at the first colon. */
const described = (name: string, summary: string): string => quoted(`${name.replaceAll(':', '\\:')}:${summary}`)

/** A script for zsh, to be sourced after compinit or stored as _kp in a folder of $fpath. */
export function zshCompletion(tree: readonly CompletionNode[]): string {
  const taking = tree.flatMap(({ path, options }) =>
    options.flatMap((option) => (option.takesValue ? option.names.map((name) => quoted(`${path}:${name}`)) : [])),
  )
  const values = tree.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      option.choices.length > 0
        ? [
            `    ${option.names.map((name) => quoted(`${path}:${name}`)).join('|')}) compadd -- ${option.choices.map(quoted).join(' ')}; return ;;`,
          ]
        : [],
    ),
  )
  const commands = tree
    .filter((node) => node.path !== '')
    .map(({ path }) => quoted(path))
    .join('|')
  const cases = tree.map(({ path, commands: below, options, choices }) => {
    const after = [...below.map(({ name, summary }) => described(name, summary)), ...choices.map(quoted)]
    const named = options.flatMap(({ names, summary }) => names.map((name) => described(name, summary)))
    return `    ${quoted(path)})\n      below=(${after.join(' ')})\n      options=(${named.join(' ')}) ;;`
  })
  return `#compdef kp
# Completion of kp for zsh. Printed by kp completion zsh.
_kp() {
  local place='' word
  local -i i
  local -a below options
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      -*)
        case "$place:$word" in
          (${taking.join('|')}) ((i == CURRENT - 1)) || ((i++)) ;;
        esac ;;
      *)
        case "\${place:+$place }$word" in
          (${commands}) place="\${place:+$place }$word" ;;
        esac ;;
    esac
  done
  case "$place:\${words[CURRENT-1]}" in
${values.map((line) => line.replace(/^ {4}/, '    (')).join('\n')}
    (${taking.join('|')}) _files; return ;;
  esac
  case "$place" in
${cases.map((line) => line.replace(/^ {4}/, '    (')).join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o 'option' options
  elif (( \${#below} )); then
    _describe 'command' below
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _kp ]]; then
  _kp "$@"
else
  compdef _kp kp
fi
`
}
