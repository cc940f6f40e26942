import type { Command } from 'commander'
import { Option } from 'commander'
import { bases, exportAgent, formats } from '#lib/domains/exports/contract.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import { asPersonOptions, type PersonOptions } from './person.ts'
import { exportPerson } from './prepared.ts'
import { type Format, moveIntoPlace, outputOf, printedSize, receive, unfinishedBeside } from './receiving.ts'
import type { CommandSession } from './session.ts'

interface ExportOptions extends PersonOptions {
  output: string
  format?: Format
  scope: (typeof bases)[number]
  force?: boolean
}

const formatOf = (output: string, given: Format | undefined): Format =>
  given ?? formats.find((format) => output.toLowerCase().endsWith(`.${format}`)) ?? 'json'
async function exportAgentTo(session: CommandSession, agent: string, options: ExportOptions): Promise<void> {
  const { terminal } = session
  const file = outputOf(session, options)
  const format = formatOf(options.output, options.format)
  const self = agent === 'me' ? (await session.call(readSelf)).body.data.agent_id : agent
  if (self === null)
    throw new Failure('not_an_agent', 'This token does not belong to an agent. Name the agent to export.')
  try {
    await unfinishedBeside(session.invocation, file, async (unfinished) => {
      const response = await session.stream(exportAgent, {
        params: { agent_id: self },
        query: { format, scope: options.scope },
      })
      const bytes = await receive(response, unfinished, format, (so) =>
        terminal.progress(`Exporting: ${printedSize(so)}`),
      )
      moveIntoPlace(unfinished, file, options.force ?? false)
      terminal.clear()
      terminal.document({ data: { agent_id: self, format, scope: options.scope, file, bytes } })
      terminal.line(
        terminal.good('✓ '),
        `${self}: ${printedSize(bytes)} in ${options.output} (${format}, ${options.scope})`,
      )
      terminal.note('The file contains personal data. Only your user can read it.')
    })
  } finally {
    terminal.clear()
  }
}

function exportAll(session: CommandSession, who: string, options: ExportOptions): Promise<void> {
  if (options.as === undefined) {
    if (options.passwordStdin) throw usageFailure('--password-stdin requires --as <email>.')
    return exportAgentTo(session, who, options)
  }
  if (who !== 'me') throw usageFailure('A person can only export all of their data: kp export me --as <email>.')
  if (options.format !== undefined && options.format !== 'zip')
    throw usageFailure('The export of a person must be a zip. Omit --format.')
  return exportPerson(session, options)
}

/** Exports: export. */
export function exportCommands(program: Command, begin: () => CommandSession): void {
  asPersonOptions(program.command('export'))
    .summary('export all data about an agent or yourself to a file')
    .description(
      'Exports all data about an agent to a file that only you can read: units, skills, votes, tokens and more. With --as, exports all data about a person: account, sessions, requests and agents, as a ZIP that the registry keeps for four hours. An incomplete file is never written.\n\nExample:\n  kp export me --output me.json\n  kp export me --as somebody@example.org --output me.zip',
    )
    .argument('<agent>', 'an agent’s id, or me')
    .requiredOption('--output <file>', 'where to write it')
    .addOption(
      new Option('--format <format>', 'the format (default: from the file’s extension, else json)').choices(formats),
    )
    .addOption(
      new Option('--scope <scope>', 'provided: data that was provided (GDPR art. 20); all: derived data too (art. 15)')
        .choices(bases)
        .default('all'),
    )
    .option('--force', 'replace an existing file')
    .action((agent: string, options: ExportOptions) => exportAll(begin(), agent, options))
}
