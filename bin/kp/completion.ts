import { Argument, type Command } from 'commander'
import { bashCompletion } from './completion-bash.ts'
import { fishCompletion } from './completion-fish.ts'
import { completionTree } from './completion-tree.ts'
import { zshCompletion } from './completion-zsh.ts'
import type { CommandSession } from './session.ts'

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
const shellNames = Object.keys(shells) as (keyof typeof shells)[]

/** Shell completion: completion. */
export function completionCommand(program: Command, begin: () => CommandSession): void {
  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description(
      'Prints a script that completes commands, options and their values for this version of kp.\n\nExample:\n  source <(kp completion bash)          # in ~/.bashrc\n  source <(kp completion zsh)           # in ~/.zshrc, after compinit\n  kp completion fish | source           # in ~/.config/fish/config.fish',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(shellNames))
    .action((shell: keyof typeof shells) => {
      const script = shells[shell](completionTree(program))
      const { terminal } = begin()
      terminal.document({ data: { shell, script } })
      for (const line of script.trimEnd().split('\n')) terminal.line(line)
    })
}
