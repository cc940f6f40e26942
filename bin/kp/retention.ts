import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { Received, RequestParts } from '#lib/client/request.ts'
import {
  dryRunRetention,
  editRetention,
  listSweeps,
  readRetention,
  readSweep,
  resetRetention,
  sweepRetention,
} from '#lib/domains/retention/contract.ts'
import { presetNames } from '#lib/domains/retention/rules.ts'
import { Failure, usageFailure } from './failure.ts'
import type { Session } from './session.ts'

type Policy = Received<typeof readRetention>['body']['data']['policy']
type Change = NonNullable<RequestParts<typeof dryRunRetention>['body']>
type DryRun = Received<typeof dryRunRetention>['body']['data']
type Sweep = Received<typeof readSweep>['body']['data']
const visibilities = ['network', 'org', 'private'] as const

const count = (number: number): string => number.toLocaleString('en')
const period = (days: number | null): string =>
  days === null ? 'for ever' : days === 1 ? '1 day' : `${count(days)} days`

function printPolicy({ terminal }: Session, policy: Policy): void {
  terminal.table(
    ['VISIBILITY', 'KEPT', 'SET BY'],
    visibilities.map((visibility) => {
      const { days, source, set_by, set_at } = policy[visibility]
      const by =
        source === 'environment'
          ? 'the environment'
          : `${set_by ?? 'an admin'}${set_at ? `, ${set_at.slice(0, 10)}` : ''}`
      return [visibility, period(days), by]
    }),
  )
}

async function show(session: Session): Promise<void> {
  const { body } = await session.call(readRetention)
  session.terminal.document(body)
  printPolicy(session, body.data.policy)
}

function printDryRun({ terminal }: Session, { policy, would_delete, upcoming }: DryRun): void {
  const later = upcoming.filter(({ within_days }) => within_days > 0)
  terminal.table(
    ['VISIBILITY', 'KEPT', 'WOULD GO NOW', ...later.map(({ within_days }) => `WITHIN ${within_days} DAYS`)],
    [
      ...visibilities.map((visibility) => [
        visibility,
        period(policy[visibility]),
        count(would_delete[visibility]),
        ...later.map((due) => count(due[visibility])),
      ]),
      ['all', '', count(would_delete.total), ...later.map((due) => count(due.total))],
    ],
  )
  if (would_delete.held > 0) terminal.note(`${count(would_delete.held)} more expired and stay, under a legal hold.`)
}

interface SetOptions {
  preset?: (typeof presetNames)[number]
  networkDays?: string
  orgDays?: string
  privateDays?: string
  yes?: boolean
}
function daysOf(option: string, text: string): number | null {
  if (text === 'forever') return null
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw usageFailure(`${option} takes a number of days from 1, or forever; "${text}" is neither. Nothing was changed.`)
}
function changeOf({ preset, networkDays, orgDays, privateDays }: SetOptions): Change {
  const change: Change = {
    ...(preset !== undefined && { preset }),
    ...(networkDays !== undefined && { network_days: daysOf('--network-days', networkDays) }),
    ...(orgDays !== undefined && { org_days: daysOf('--org-days', orgDays) }),
    ...(privateDays !== undefined && { private_days: daysOf('--private-days', privateDays) }),
  }
  if (Object.keys(change).length === 0)
    throw usageFailure('Say what to change: --preset, --network-days, --org-days or --private-days.')
  return change
}

async function setPeriods(session: Session, options: SetOptions): Promise<void> {
  const { terminal } = session
  const change = changeOf(options)
  const { data } = (await session.call(dryRunRetention, { body: change })).body
  if (!options.yes) {
    if (!terminal.isInteractive)
      throw usageFailure(
        `Periods are confirmed on a terminal, and this is none. ${count(data.would_delete.total)} would go with the next sweep. Nothing was changed.`,
        'Add --yes to set them without being asked.',
      )
    printDryRun(session, data)
    const answer = await terminal.ask('Set these periods? What expired goes with the next sweep, for good. [y/N]')
    if (!/^y(?:es)?$/i.test(answer)) throw new Failure('not_confirmed', 'Nothing was changed.')
  }
  const { body } = await session.call(editRetention, { body: change })
  terminal.document({ ...body, would_delete: data.would_delete })
  printPolicy(session, body.data.policy)
  terminal.note(`${count(data.would_delete.total)} units and skills go with the next sweep, within the hour.`)
}

async function reset(session: Session): Promise<void> {
  const { body } = await session.call(resetRetention)
  session.terminal.document(body)
  printPolicy(session, body.data.policy)
}

/** Waits for a sweep that goes on after its answer. */
async function finished(session: Session, sweep: Sweep): Promise<Sweep> {
  let now = sweep
  while (now.state === 'running') {
    session.terminal.progress(`Sweeping: ${count(now.deleted.total)} removed`)
    await delay(1000)
    now = (await session.call(readSweep, { params: { id: sweep.id } })).body.data
  }
  session.terminal.clear()
  return now
}

async function sweep(session: Session, { dryRun }: { dryRun?: boolean }): Promise<void> {
  const { terminal } = session
  if (dryRun) {
    const { body } = await session.call(dryRunRetention, { body: {} })
    terminal.document(body)
    printDryRun(session, body.data)
    terminal.note('Nothing was removed.')
    return
  }
  const done = await finished(session, (await session.call(sweepRetention)).body.data)
  terminal.document({ data: done })
  terminal.table(
    ['VISIBILITY', 'KEPT', 'REMOVED'],
    visibilities.map((visibility) => [visibility, period(done.policy[visibility]), count(done.deleted[visibility])]),
  )
  if (done.state !== 'finished')
    throw new Failure(
      'interrupted',
      `The sweep ended before its work did, with ${count(done.deleted.total)} removed.`,
      {
        advice: 'Run it again, or leave the rest to the hourly one.',
      },
    )
  terminal.line(
    terminal.good('✓ '),
    `${count(done.deleted.total)} removed${done.held > 0 ? `; ${count(done.held)} stay under a legal hold` : ''}.`,
  )
}

async function history(session: Session): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(listSweeps, { query: { limit: 20 } })
  terminal.document(body)
  terminal.table(
    ['STARTED', 'BY', 'STATE', 'NETWORK', 'ORG', 'PRIVATE', 'HELD'],
    body.data.map((one) => [
      one.started_at,
      one.requested_by,
      one.state,
      ...visibilities.map((visibility) => count(one.deleted[visibility])),
      count(one.held),
    ]),
  )
}

/** How long units are kept. */
export function retentionCommands(program: Command, begin: () => Session): void {
  const retention = program
    .command('retention')
    .summary('how long units are kept, and sweeps')
    .description('How long units and skills are kept, by visibility. For admins.\n\nExample:\n  kp retention show')
  retention
    .command('show')
    .summary('show the periods and who set them')
    .description('Shows how long each visibility is kept, and who set it.\n\nExample:\n  kp retention show')
    .action(() => show(begin()))
  retention
    .command('set')
    .summary('set periods in place of the environment’s')
    .description(
      'Shows first how many units and skills each visibility would lose, and asks. Periods that are not named stay as they are.\n\nExample:\n  kp retention set --org-days 365 --private-days 180',
    )
    .addOption(new Option('--preset <name>', 'all three at once').choices(presetNames))
    .option('--network-days <days>', 'for what everybody sees; a number, or forever')
    .option('--org-days <days>', 'for what an organisation sees; a number, or forever')
    .option('--private-days <days>', 'for what its owner sees; a number, or forever')
    .option('--yes', 'set them without being asked; needed in scripts')
    .action((options: SetOptions) => setPeriods(begin(), options))
  retention
    .command('reset')
    .summary('go back to the environment’s periods')
    .description('Takes back what admins set.\n\nExample:\n  kp retention reset')
    .action(() => reset(begin()))
  retention
    .command('sweep')
    .summary('remove now what expired')
    .description(
      'Removes all that expired, but for what a legal hold covers, and waits until it is done. An hourly job does the same.\n\nExample:\n  kp retention sweep --dry-run',
    )
    .option('--dry-run', 'say what would go, and remove nothing')
    .action((options: { dryRun?: boolean }) => sweep(begin(), options))
  retention
    .command('history')
    .summary('show the last sweeps')
    .description('Shows the last sweeps, with what each removed.\n\nExample:\n  kp retention history')
    .action(() => history(begin()))
}
