import { Command, Help } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { accountCommands } from './account.ts'
import { adminCommands } from './admin.ts'
import { agentCommands } from './agents.ts'
import { auditCommands } from './audit.ts'
import { cladeCommands } from './clade.ts'
import { completionCommand } from './completion.ts'
import { consentCommands } from './consent.ts'
import { contributingCommands } from './contributing.ts'
import { doctorCommand } from './doctor.ts'
import { erasingCommands } from './erasing.ts'
import { erasureCommands } from './erasures.ts'
import { exportCommands } from './exports.ts'
import { grimoireCommands } from './grimoire.ts'
import { holdCommands } from './holds.ts'
import { importCommands } from './imports.ts'
import { keyCommands } from './keys.ts'
import { knowledgeCommands } from './knowledge.ts'
import { modelLogCommands } from './model-log.ts'
import { peopleCommands } from './people.ts'
import { piiCommands } from './pii.ts'
import { privacyCommands } from './privacy.ts'
import { receiptCommands } from './receipts.ts'
import { reputationCommands } from './reputation.ts'
import { retentionCommands } from './retention.ts'
import { searchCommands } from './search.ts'
import { type GlobalOptions, openSession, type Session } from './session.ts'
import { skillCommands } from './skills.ts'
import { snapshotCommands } from './snapshots.ts'
import { sopCommands } from './sops.ts'
import { startingCommands } from './starting.ts'
import { tokenCommands } from './tokens.ts'
import { tombstoneCommands } from './tombstones.ts'
import { validatingCommands } from './validating.ts'

const epilogue = `
Options of every command:
  --url <url>        the registry (default: the one you are signed in to, else http://localhost:3000)
  --token <token>    the token to use (default: the stored one)
  --json             answer with one JSON document; errors as JSON on stderr
  --quiet            no remarks beside the answer
  --no-color         no colours
  -h, --help         print help; -V, --version the version

Settings:
  KP_URL, KP_TOKEN   as --url and --token; NO_COLOR is respected
  The configuration is in $XDG_CONFIG_HOME/knowledgepulse, or ~/.config/knowledgepulse.

Exit codes:
  0 done · 1 refused or failed · 2 wrong usage · 3 no answer · 4 not signed in or not allowed

Begin with: kp register, or kp login <token>. Then: kp contribute docs/examples/trace.json
Help on one command: kp help <command>`

/** The whole of `kp`. `opened` hears of each session that a command opens. */
export function buildProgram(opened: (session: Session) => void): Command {
  const program = new Command('kp')
    .description('KnowledgePulse on the command line: share what agents learned, and erase it with a receipt.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .option('--url <url>', 'the registry (default: the one you are signed in to, else http://localhost:3000)')
    .option('--token <token>', 'the token to use (default: the stored one)')
    .option('--json', 'answer with one JSON document; errors as JSON on stderr')
    .option('--quiet', 'no remarks beside the answer')
    .option('--no-color', 'no colours')
    .addHelpText('after', epilogue)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      outputError: () => {}, // told by bin/kp.ts, as every other error
      ...(process.argv.includes('--no-color') && { getOutHasColors: () => false, getErrHasColors: () => false }),
    })
    .configureHelp({
      showGlobalOptions: true,
      // The overview is about commands; what every command takes stands below them.
      visibleOptions: (command) => (command.parent ? Help.prototype.visibleOptions.call(new Help(), command) : []),
      styleTitle: (title) => `\u001b[1m${title}\u001b[22m`, // commander takes it away again where colours are not wanted
    })
  const begin = (url?: string): Session => {
    const options = program.opts<GlobalOptions>()
    const session = openSession({ ...options, ...(url !== undefined && { url }) })
    opened(session)
    return session
  }
  const groups: [string, (command: Command, begin: (url?: string) => Session) => void][] = [
    ['Who you are:', accountCommands],
    ['Who you are:', consentCommands],
    ['Who you are:', peopleCommands],
    ['Your agents:', agentCommands],
    ['Your agents:', grimoireCommands],
    ['Your agents:', cladeCommands],
    ['Your agents:', snapshotCommands],
    ['Your agents:', modelLogCommands],
    ['Knowledge:', searchCommands],
    ['Knowledge:', knowledgeCommands],
    ['Knowledge:', validatingCommands],
    ['Knowledge:', piiCommands],
    ['Knowledge:', contributingCommands],
    ['Knowledge:', erasingCommands],
    ['Knowledge:', sopCommands],
    ['Knowledge:', reputationCommands],
    ['Skills:', skillCommands],
    ['Skills:', tombstoneCommands],
    ['Your data:', exportCommands],
    ['Your data:', importCommands],
    ['Your data:', privacyCommands],
    ['Receipts:', receiptCommands],
    ['Tokens and the audit log:', tokenCommands],
    ['Tokens and the audit log:', auditCommands],
    ['For admins:', retentionCommands],
    ['For admins:', holdCommands],
    ['On the installation’s own machine:', startingCommands],
    ['On the installation’s own machine:', adminCommands],
    ['On the installation’s own machine:', keyCommands],
    ['On the installation’s own machine:', erasureCommands],
    ['When something is wrong:', doctorCommand],
    ['Your shell:', completionCommand],
  ]
  for (const [group, add] of groups) {
    program.commandsGroup(group)
    add(program, begin)
  }
  program.helpCommand('help [command]', 'print help on a command')
  return program
}
