import type { CompletionNode, CompletionOption } from './completion-tree.ts'

/** Quotes text with single quotes, in which fish has two escapes. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function optionLine(path: string, { names, summary, takesValue, choices }: CompletionOption): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ')
  const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : takesValue ? ' -r -F' : ''
  return `complete -c kp -n ${quoted(`__kp_at ${quoted(path)}`)} ${flags}${value} -d ${quoted(summary)}`
}

/** A script for fish 3 and later. */
export function fishCompletion(tree: readonly CompletionNode[]): string {
  const taking = tree.flatMap(({ path, options }) =>
    options.flatMap((option) => (option.takesValue ? option.names.map((name) => quoted(`${path}:${name}`)) : [])),
  )
  const commands = tree.filter((node) => node.path !== '').map(({ path }) => quoted(path))
  const lines = tree.flatMap(({ path, commands: below, options, choices, takesArguments }) => [
    ...(takesArguments && choices.length === 0 ? [] : [`complete -c kp -n ${quoted(`__kp_at ${quoted(path)}`)} -f`]),
    ...below.map(
      ({ name, summary }) =>
        `complete -c kp -n ${quoted(`__kp_at ${quoted(path)}`)} -f -a ${quoted(name)} -d ${quoted(summary)}`,
    ),
    ...(choices.length > 0
      ? [`complete -c kp -n ${quoted(`__kp_at ${quoted(path)}`)} -f -a ${quoted(choices.join(' '))}`]
      : []),
    ...options.map((option) => optionLine(path, option)),
  ])
  return `# Completion of kp for fish. Printed by kp completion fish.
function __kp_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l place ''
  set -l skips 0
  for word in $words
    if test $skips -eq 1
      set skips 0
      continue
    end
    switch $word
      case '-*'
        if contains -- "$place:$word" ${taking.join(' ')}
          set skips 1
        end
      case '*'
        set -l next (string trim -- "$place $word")
        if contains -- "$next" ${commands.join(' ')}
          set place $next
        end
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`
}
