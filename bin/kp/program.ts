import { Command, Help } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { type CommandFile, commandFiles } from './commands.ts'
import type { Invocation, OutputStream } from './invocation.ts'
import { type CommandSession, type GlobalOptions, openCommandSession } from './session.ts'

const epilogue = `
Options of every command:
  --url <url>        the registry (default: the one you are signed in to, else http://localhost:3000)
  --token <token>    the token to use (default: the stored one)
  --json             print one JSON document; print errors as JSON to stderr
  --quiet            print only the answer
  --no-color         no colours
  -h, --help         print help; -V, --version the version

Settings:
  KP_URL, KP_TOKEN   as --url and --token; NO_COLOR is respected
  The configuration is in $XDG_CONFIG_HOME/knowledgepulse, or ~/.config/knowledgepulse.

Exit codes:
  0 done · 1 rejected or failed · 2 wrong usage · 3 no answer · 4 not signed in or not allowed

Start with kp register or kp login <token>. Then run kp contribute docs/examples/trace.json
Help for one command: kp help <command>`

/** Whether help has colours on this stream, by the rules that Commander applies to process streams. */
function hasColors({ args, env }: Invocation, stream: OutputStream): boolean {
  if (args.includes('--no-color') || env.NO_COLOR || env.FORCE_COLOR === '0' || env.FORCE_COLOR === 'false')
    return false
  if (env.FORCE_COLOR || env.CLICOLOR_FORCE !== undefined) return true
  return stream.isTTY === true && stream.hasColors?.() === true
}
const widthOf = ({ isTTY, columns }: OutputStream): number => (isTTY ? (columns ?? 80) : 80)

/** `kp` with the commands of these files. Calls `opened` with each session that a command opens. */
export async function buildProgram(
  invocation: Invocation,
  opened: (session: CommandSession) => void,
  files: readonly CommandFile[] = commandFiles,
): Promise<Command> {
  const program = new Command('kp')
    .description('The KnowledgePulse command line: share what agents learned, and erase data with a signed receipt.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .option('--url <url>', 'the registry (default: the one you are signed in to, else http://localhost:3000)')
    .option('--token <token>', 'the token to use (default: the stored one)')
    .option('--json', 'print one JSON document; print errors as JSON to stderr')
    .option('--quiet', 'print only the answer')
    .option('--no-color', 'no colours')
    .addHelpText('after', epilogue)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      outputError: () => {}, // main.ts prints it like every other error
      writeOut: (text) => void invocation.stdout.write(text),
      writeErr: (text) => void invocation.stderr.write(text),
      getOutHelpWidth: () => widthOf(invocation.stdout),
      getErrHelpWidth: () => widthOf(invocation.stderr),
      getOutHasColors: () => hasColors(invocation, invocation.stdout),
      getErrHasColors: () => hasColors(invocation, invocation.stderr),
    })
    .configureHelp({
      showGlobalOptions: true,
      // The overview lists commands. Global options are listed below them.
      visibleOptions: (command) => (command.parent ? Help.prototype.visibleOptions.call(new Help(), command) : []),
      styleTitle: (title) => `\u001b[1m${title}\u001b[22m`, // Commander removes it where colours are off
    })
  const begin = (url?: string): CommandSession => {
    const options = program.opts<GlobalOptions>()
    const session = openCommandSession(invocation, { ...options, ...(url !== undefined && { url }) })
    opened(session)
    return session
  }
  for (const { group, load } of files) {
    program.commandsGroup(group)
    const add = await load()
    add(program, begin)
  }
  program.helpCommand('help [command]', 'print help for a command')
  return program
}
