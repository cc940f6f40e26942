import { CommanderError } from 'commander'
import { filesFor } from './commands.ts'
import { exitCodes, tell, usageFailure } from './failure.ts'
import { buildProgram } from './program.ts'
import type { Session } from './session.ts'
import { openTerminal } from './terminal.ts'

/** Tells the error as the person wants errors told, even where no session could be opened. */
function report(error: unknown, session: Session | undefined): void {
  const json = process.argv.includes('--json')
  const terminal =
    session?.terminal ?? openTerminal({ json, quiet: false, color: !process.argv.includes('--no-color') })
  const told = tell(error, session?.url ?? '', session?.command ?? ((words) => `kp ${words}`))
  terminal.fail(told)
  process.exitCode = told.exitCode
}

/** What commander itself ends with: help and the version are no errors. */
function ofCommander({ code, exitCode, message }: CommanderError): unknown {
  if (exitCode === 0) return undefined
  if (code === 'commander.help') {
    process.exitCode = exitCodes.usage // a group without a command: its help was shown
    return undefined
  }
  const said = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/ *([^.)])$/, '$1.')
  return usageFailure(
    said.charAt(0).toUpperCase() + said.slice(1),
    'kp help shows every command, kp help <command> its options.',
  )
}

/** Runs the command that the process was called with. Every end is an exit code; no error leaves it. */
export async function main(): Promise<void> {
  // Whoever reads us through `head` has read enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.done)
    throw error
  })
  let session: Session | undefined
  try {
    const program = await buildProgram(
      (opened) => {
        session = opened
      },
      filesFor(process.argv.slice(2)),
    )
    if (process.argv.length <= 2) program.outputHelp()
    else await program.parseAsync()
  } catch (error) {
    const fault = error instanceof CommanderError ? ofCommander(error) : error
    if (fault !== undefined) report(fault, session)
  }
}
