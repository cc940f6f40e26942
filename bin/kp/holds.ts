import type { Command } from 'commander'
import { Option } from 'commander'
import { createHold, listHolds } from '#lib/domains/holds/contract.ts'
import { holdKinds } from '#lib/domains/holds/rules.ts'
import { usageFailure } from './failure.ts'
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
    `${body.data.id} covers the ${kind} ${target}, which cannot be erased or swept until the hold ends.`,
  )
}

/** Tokens cannot release holds, and `kp` has no other credential. */
const release = ({ url }: CommandSession, id: string): never => {
  throw usageFailure(
    `A token cannot release a legal hold, because the next sweep deletes expired data that only the hold kept. Nothing was changed. An admin releases ${id} in the console: ${url}/admin/holds`,
  )
}

/** Legal holds. */
export function holdCommands(program: Command, begin: () => CommandSession): void {
  const holds = program
    .command('holds')
    .summary('legal holds: list, add')
    .description('Data under a legal hold cannot be erased or swept. For admins.\n\nExample:\n  kp holds list')
  holds
    .command('list')
    .summary('show the holds in force')
    .description('Shows the holds in force, with their reasons.\n\nExample:\n  kp holds list --all')
    .option('--all', 'include holds that ended')
    .action((options: { all?: boolean }) => list(begin(), options))
  holds
    .command('add')
    .summary('add a legal hold')
    .description(
      'Protects a unit, a skill, all data of an agent, or all data of a person and their agents (kind `account`) from erasure and sweeps. The owner sees that a hold exists, but not its reason.\n\nExample:\n  kp holds add kp:trace:6d961dbbe7e99e7f7c2cc1f2 --kind unit --reason "court order 12/26"',
    )
    .argument('<id>', 'the id of the unit, skill, agent or account')
    .addOption(new Option('--kind <kind>', 'the type of the id').choices(holdKinds).makeOptionMandatory())
    .requiredOption('--reason <text>', 'the reason; only admins can read it')
    .option('--until <time>', 'the day or ISO 8601 time at which the hold ends automatically')
    .action((id: string, options: AddOptions) => add(begin(), id, options))
  holds
    .command('release')
    .summary('show where to end a hold')
    .description(
      'Shows the page of the console on which an admin releases holds. A token cannot release one, because the next sweep deletes expired data that only the hold kept.\n\nExample:\n  kp holds release hold_…',
    )
    .argument('<hold>', 'the hold’s id')
    .action((id: string) => release(begin(), id))
}
