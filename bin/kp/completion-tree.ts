import type { Command, Option } from 'commander'

export interface CompletionOption {
  /** As typed: `--url`, `-h`. */
  names: string[]
  summary: string
  takesValue: boolean
  /** Its possible values. When empty, file names are offered. */
  choices: string[]
}
/** A command with its subcommands and options, from which the completion scripts of all shells are made. */
export interface CompletionNode {
  /** The words of the command after `kp`. Empty for `kp` itself. */
  path: string
  commands: { name: string; summary: string }[]
  options: CompletionOption[]
  /** The possible values of its arguments. Empty when they are unlimited. */
  choices: string[]
  takesArguments: boolean
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
const optionOf = (option: Option): CompletionOption => ({
  names: [option.long, option.short].flatMap((name) => name ?? []),
  summary: oneLine(option.description),
  takesValue: option.required || option.optional,
  choices: [...(option.argChoices ?? [])],
})

/** Every command with its options, read from the program itself so that the tree is complete. */
export function completionTree(program: Command): CompletionNode[] {
  const everywhere = [
    ...program.options.map(optionOf),
    { names: ['--help', '-h'], summary: 'print help', takesValue: false, choices: [] },
  ]
  const nodes: CompletionNode[] = []
  const visit = (command: Command, path: string) => {
    const commands = command.commands.map((one) => ({ name: one.name(), summary: oneLine(one.summary()) }))
    const own = command === program ? [] : command.options.map(optionOf)
    nodes.push({
      path,
      commands: command === program ? [...commands, { name: 'help', summary: 'print help for a command' }] : commands,
      options: [...own, ...everywhere],
      choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
      takesArguments: command.registeredArguments.length > 0,
    })
    for (const one of command.commands) visit(one, `${path} ${one.name()}`.trim())
  }
  visit(program, '')
  const names = nodes[0]?.commands.map(({ name }) => name).filter((name) => name !== 'help') ?? []
  return [...nodes, { path: 'help', commands: [], options: everywhere, choices: names, takesArguments: true }]
}
