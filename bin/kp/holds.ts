import type { Command } from 'commander'
import { Option } from 'commander'
import { createHold, listHolds, releaseHold } from '#lib/domains/holds/contract.ts'
import { holdKinds } from '#lib/domains/holds/rules.ts'
import type { CommandSession } from './session.ts'

async function list(session: CommandSession, { all }: { all?: boolean }): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(listHolds, { query: { limit: 100, ...(!all && { active: 'true' as const }) } })
  terminal.document(body)
  terminal.table(
    ['ID', 'WHAT', 'TARGET', 'SINCE', 'UNTIL', 'REASON'],
    body.data.map((hold) => [
      hold.id,
      hold.kind,
      hold.target_id,
      hold.created_at.slice(0, 10),
      hold.released_at
        ? `released ${hold.released_at.slice(0, 10)}`
        : (hold.expires_at?.slice(0, 10) ?? 'it is released'),
      hold.reason,
    ]),
  )
  if (body.data.length === 0) terminal.note('None.')
}

interface AddOptions {
  kind: (typeof holdKinds)[number]
  reason: string
  until?: string
}
async function add(session: CommandSession, target: string, { kind, reason, until }: AddOptions): Promise<void> {
  const { terminal } = session
  const expires =
    until === undefined ? {} : { expires_at: /^\d{4}-\d{2}-\d{2}$/.test(until) ? `${until}T00:00:00Z` : until }
  const { body } = await session.call(createHold, { body: { kind, target_id: target, reason, ...expires } })
  terminal.document(body)
  terminal.line(
    terminal.good('✓ '),
    `${body.data.id} holds the ${kind} ${target}: neither erased nor swept until it ends.`,
  )
}

async function release(session: CommandSession, id: string): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(releaseHold, { params: { id } })
  terminal.document(body)
  terminal.line(terminal.good('✓ '), `${id} is released; ${body.data.target_id} can be erased again.`)
}

/** Legal holds. */
export function holdCommands(program: Command, begin: () => CommandSession): void {
  const holds = program
    .command('holds')
    .summary('legal holds: list, add, release')
    .description('What a legal hold covers is neither erased nor swept. For admins.\n\nExample:\n  kp holds list')
  holds
    .command('list')
    .summary('show the holds in force')
    .description('Shows the holds in force, with their reasons.\n\nExample:\n  kp holds list --all')
    .option('--all', 'those that ended, too')
    .action((options: { all?: boolean }) => list(begin(), options))
  holds
    .command('add')
    .summary('hold a unit, a skill, or all of an agent’s')
    .description(
      'Keeps a unit, a skill, everything of an agent, or of a person with their agents (kind `account`) from being erased or swept. Its owner is told that it is held, not why.\n\nExample:\n  kp holds add kp:trace:6d961dbbe7e99e7f7c2cc1f2 --kind unit --reason "court order 12/26"',
    )
    .argument('<id>', 'of what is to be held')
    .addOption(new Option('--kind <kind>', 'what the id names').choices(holdKinds).makeOptionMandatory())
    .requiredOption('--reason <text>', 'for admins alone to read')
    .option('--until <time>', 'a day or an ISO 8601 time at which it ends by itself')
    .action((id: string, options: AddOptions) => add(begin(), id, options))
  holds
    .command('release')
    .summary('end a hold')
    .description('Ends a hold; what it covered can be erased again.\n\nExample:\n  kp holds release hold_…')
    .argument('<hold>', 'the hold’s id')
    .action((id: string) => release(begin(), id))
}
