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
  if (self === null) throw new Failure('not_an_agent', 'This token belongs to no agent; name the agent to export.')
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
      terminal.note('It holds personal data; you alone may read the file.')
    })
  } finally {
    terminal.clear()
  }
}

function exportAll(session: CommandSession, who: string, options: ExportOptions): Promise<void> {
  if (options.as === undefined) {
    if (options.passwordStdin) throw usageFailure('--password-stdin goes with --as <e-mail>.')
    return exportAgentTo(session, who, options)
  }
  if (who !== 'me') throw usageFailure('A person exports everything of theirs: kp export me --as <e-mail>.')
  if (options.format !== undefined && options.format !== 'zip') throw usageFailure('A person’s export is a zip.')
  return exportPerson(session, options)
}

/** Exports: export. */
export function exportCommands(program: Command, begin: () => CommandSession): void {
  asPersonOptions(program.command('export'))
    .summary('write everything held on an agent or you into a file')
    .description(
      'Writes everything that the registry holds on an agent into a file that you alone may read: its units and those attributed to it, skills, votes, tokens and the rest. With --as everything on a person: account, sessions, requests, and all of their agents, as a ZIP that the registry prepares and keeps for four hours. The file is there whole or not at all.\n\nExample:\n  kp export me --output me.json\n  kp export me --as somebody@example.org --output me.zip',
    )
    .argument('<agent>', 'an agent’s id, or me')
    .requiredOption('--output <file>', 'where to write it')
    .addOption(
      new Option('--format <format>', 'its form (default: as the file’s name ends, else json)').choices(formats),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        'provided: what was contributed (GDPR art. 20); all: what was derived too (art. 15)',
      )
        .choices(bases)
        .default('all'),
    )
    .option('--force', 'replace a file that is there already')
    .action((agent: string, options: ExportOptions) => exportAll(begin(), agent, options))
}
