import { CommanderError } from 'commander'
import { filesFor } from './commands.ts'
import { describeError, exitCodes, type Failure, usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { buildProgram } from './program.ts'
import type { CommandSession } from './session.ts'
import { openTerminal } from './terminal.ts'

/** Prints the error according to the options, even without a session. */
function report(error: unknown, session: CommandSession | undefined, invocation: Invocation): void {
  const { args } = invocation
  const json = args.includes('--json')
  const terminal =
    session?.terminal ?? openTerminal(invocation, { json, quiet: false, color: !args.includes('--no-color') })
  const told = describeError(error, session?.url ?? '', session?.command ?? ((words) => `kp ${words}`))
  terminal.fail(told)
  invocation.setExitCode(told.exitCode)
}

/** The failure for an exception of Commander. Undefined after help and the version. */
function failureOf({ code, exitCode, message }: CommanderError, { setExitCode }: Invocation): Failure | undefined {
  if (exitCode === 0) return undefined
  if (code === 'commander.help') {
    setExitCode(exitCodes.usage) // a group without a command: its help was printed
    return undefined
  }
  const said = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/ {0,4}([^.)])$/, '$1.')
  return usageFailure(
    said.charAt(0).toUpperCase() + said.slice(1),
    'Run kp help to list all commands, or kp help <command> for the options of one.',
  )
}

/** Runs one command. Sets the exit code and does not throw. Leaves no listener and no timer behind. */
export async function main(invocation: Invocation): Promise<void> {
  const { args } = invocation
  let session: CommandSession | undefined
  try {
    const program = await buildProgram(
      invocation,
      (opened) => {
        session = opened
      },
      filesFor(args),
    )
    if (args.length === 0) program.outputHelp()
    else await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    const fault = error instanceof CommanderError ? failureOf(error, invocation) : error
    if (fault !== undefined) report(fault, session, invocation)
  }
}
