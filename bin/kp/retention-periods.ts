import type { RequestInput, ResponseOf } from '#lib/client/request.ts'
import { dryRunRetention, editRetention, readRetention, resetRetention } from '#lib/domains/retention/contract.ts'
import { isShorter, type presetNames } from '#lib/domains/retention/rules.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'

type Policy = ResponseOf<typeof readRetention>['body']['data']['policy']
type Change = NonNullable<RequestInput<typeof dryRunRetention>['body']>
type DryRun = ResponseOf<typeof dryRunRetention>['body']['data']
export const periodVisibilities = ['network', 'org', 'private'] as const

export const parseDays = (number: number): string => number.toLocaleString('en')
export const period = (days: number | null): string =>
  days === null ? 'forever' : days === 1 ? '1 day' : `${parseDays(days)} days`

function printPolicy({ terminal }: CommandSession, policy: Policy): void {
  terminal.table(
    ['VISIBILITY', 'KEPT', 'SET BY'],
    periodVisibilities.map((visibility) => {
      const { days, source, set_by, set_at } = policy[visibility]
      const by =
        source === 'environment'
          ? 'the environment'
          : `${set_by ?? 'an admin'}${set_at ? `, ${set_at.slice(0, 10)}` : ''}`
      return [visibility, period(days), by]
    }),
  )
  for (const visibility of periodVisibilities) {
    const { next } = policy[visibility]
    if (next)
      terminal.note(`${visibility}: ${period(next.days)} from ${next.at}. Any admin can cancel this until then.`)
  }
}

export async function showRetention(session: CommandSession): Promise<void> {
  const { body } = await session.call(readRetention)
  session.terminal.document(body)
  printPolicy(session, body.data.policy)
}

export function printDryRun({ terminal }: CommandSession, { policy, would_delete, upcoming }: DryRun): void {
  const later = upcoming.filter(({ within_days }) => within_days > 0)
  terminal.table(
    ['VISIBILITY', 'KEPT', 'WOULD DELETE NOW', ...later.map(({ within_days }) => `WITHIN ${within_days} DAYS`)],
    [
      ...periodVisibilities.map((visibility) => [
        visibility,
        period(policy[visibility]),
        parseDays(would_delete[visibility]),
        ...later.map((due) => parseDays(due[visibility])),
      ]),
      ['all', '', parseDays(would_delete.total), ...later.map((due) => parseDays(due.total))],
    ],
  )
  if (would_delete.held > 0)
    terminal.note(`${parseDays(would_delete.held)} more expired units and skills remain under a legal hold.`)
}

export interface SetOptions {
  preset?: (typeof presetNames)[number]
  networkDays?: string
  orgDays?: string
  privateDays?: string
  yes?: boolean
}
function daysOf(option: string, text: string): number | null {
  if (text === 'forever') return null
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw usageFailure(
    `${option} must be a number of days of at least 1, or forever, not "${text}". Nothing was changed.`,
  )
}
function changeOf({ preset, networkDays, orgDays, privateDays }: SetOptions): Change {
  const change: Change = {
    ...(preset !== undefined && { preset }),
    ...(networkDays !== undefined && { network_days: daysOf('--network-days', networkDays) }),
    ...(orgDays !== undefined && { org_days: daysOf('--org-days', orgDays) }),
    ...(privateDays !== undefined && { private_days: daysOf('--private-days', privateDays) }),
  }
  if (Object.keys(change).length === 0)
    throw usageFailure('Add at least one option: --preset, --network-days, --org-days or --private-days.')
  return change
}

export async function setPeriods(session: CommandSession, options: SetOptions): Promise<void> {
  const { terminal } = session
  const change = changeOf(options)
  const { data } = (await session.call(dryRunRetention, { body: change })).body
  const { policy } = (await session.call(readRetention)).body.data
  if (periodVisibilities.some((visibility) => isShorter(policy[visibility].days, data.policy[visibility])))
    throw new Failure('forbidden', 'Nothing was changed: a token cannot shorten a retention period.', {
      advice: 'Sign in to the console as an admin and change it under Retention; it is in force after 24 hours.',
    })
  if (!options.yes) {
    if (!terminal.isInteractive)
      throw usageFailure(
        `Changing periods needs a confirmation on a terminal, and standard input is not one. ${parseDays(data.would_delete.total)} units and skills would be deleted by the next sweep. Nothing was changed.`,
        'Add --yes to set them without a confirmation.',
      )
    printDryRun(session, data)
    const answer = await terminal.ask(
      'Set these periods? The next sweep deletes expired units and skills for good. [y/N]',
    )
    if (!/^y(?:es)?$/i.test(answer)) throw new Failure('not_confirmed', 'Nothing was changed.')
  }
  const { body } = await session.call(editRetention, { body: change })
  terminal.document({ ...body, would_delete: data.would_delete })
  printPolicy(session, body.data.policy)
  terminal.note(
    `${parseDays(data.would_delete.total)} units and skills will be deleted by the next sweep, within the hour.`,
  )
}

export async function reset(session: CommandSession): Promise<void> {
  const { body } = await session.call(resetRetention)
  session.terminal.document(body)
  printPolicy(session, body.data.policy)
}
