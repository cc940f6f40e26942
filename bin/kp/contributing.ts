import type { Command } from 'commander'
import { type Contribution, type ContributionOptions, contribute, exitCodeOf } from './contribution.ts'
import type { ContributionOutcome } from './contribution-outcome.ts'
import type { CommandSession } from './session.ts'

/** Maximum number of skipped files that are listed. --json lists all. */
const maxNamed = 10

function tellOutcome({ terminal }: CommandSession, outcome: ContributionOutcome): void {
  if (outcome.state === 'failed') {
    const request = outcome.request_id === undefined ? '' : ` (request ${outcome.request_id})`
    terminal.line(terminal.bad('✗ '), `${outcome.source}: ${outcome.message}${request}`)
    return
  }
  const before = { stored: '', known: '  (already stored)', updated: '  (replaced an earlier version)' }
  terminal.line(
    terminal.good('✓ '),
    `${outcome.id}  quality ${outcome.quality_score.toFixed(2)}  ${outcome.source}${before[outcome.state]}`,
  )
  for (const warning of outcome.warnings ?? []) terminal.line(terminal.warn('  ! '), warning)
}

function tellSum(
  { terminal }: CommandSession,
  { stored, updated, known, failed, outcomes, skipped }: Contribution,
): void {
  for (const { source, why } of skipped.slice(0, maxNamed)) terminal.note(`Skipped: ${source} ${why}.`)
  if (skipped.length > maxNamed) terminal.note(`Skipped: ${skipped.length - maxNamed} more. Use --json to list them.`)
  if (outcomes.length < 2) return
  const units = outcomes.filter(({ kind }) => kind === 'unit').length
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  const parts = [
    `${stored} stored`,
    ...(updated > 0 ? [`${updated} updated`] : []),
    ...(known > 0 ? [`${known} already stored`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ]
  terminal.note(`${counted(units, 'unit')}, ${counted(outcomes.length - units, 'skill')}: ${parts.join(', ')}.`)
}

async function contributeAll(
  session: CommandSession,
  paths: readonly string[],
  options: ContributionOptions,
): Promise<void> {
  const { terminal } = session
  const made = await contribute(session, paths.map(session.pathOf), (outcome) => tellOutcome(session, outcome), options)
  const { stored, updated, known, failed, outcomes, skipped, stopped } = made
  const complete = stopped === undefined
  terminal.document({ data: { stored, updated, known, failed, complete, items: outcomes, skipped } })
  tellSum(session, made)
  if (stopped) throw stopped
  session.invocation.setExitCode(exitCodeOf(made))
}

/** Contributions: contribute. */
export function contributingCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('contribute')
    .summary('contribute units and skills from files')
    .description(
      'Contributes units and skills. A file holds one JSON unit, an array of them, or JSON Lines; a folder is searched for such files and for skills (a folder with a SKILL.md, and the text files in it); - is standard input. Other files are skipped and listed.\n\nkp checks units on this machine first, then sends them in batches within the token’s limits. To continue an interrupted run, run the same command again: nothing is stored twice.\n\nExample:\n  kp contribute docs/examples/trace.json\n  kp contribute notes/ --json > result.json',
    )
    .argument('<paths...>', 'files or folders, or - for standard input')
    .option('--anew', 'contribute everything under new ids, including units that were contributed or erased before')
    .option('--update', 'replace your existing skill of the same name')
    .action((paths: string[], options: ContributionOptions) => contributeAll(begin(), paths, options))
}
