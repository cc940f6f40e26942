import { setTimeout as delay } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import type { ResponseOf } from '#lib/client/request.ts'
import { dryRunRetention, listSweeps, readSweep, sweepRetention } from '#lib/domains/retention/contract.ts'
import { presetNames } from '#lib/domains/retention/rules.ts'
import { Failure } from './failure.ts'
import {
  parseDays,
  period,
  periodVisibilities,
  printDryRun,
  reset,
  type SetOptions,
  setPeriods,
  showRetention,
} from './retention-periods.ts'
import type { CommandSession } from './session.ts'

type Sweep = ResponseOf<typeof readSweep>['body']['data']

/** Waits for a sweep that continues after its response. */
async function finished(session: CommandSession, sweep: Sweep): Promise<Sweep> {
  let now = sweep
  while (now.state === 'running') {
    session.terminal.progress(`Sweeping: ${parseDays(now.deleted.total)} removed`)
    await delay(1000)
    now = (await session.call(readSweep, { params: { id: sweep.id } })).body.data
  }
  session.terminal.clear()
  return now
}

async function runSweep(session: CommandSession, { dryRun }: { dryRun?: boolean }): Promise<void> {
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
    periodVisibilities.map((visibility) => [
      visibility,
      period(done.policy[visibility]),
      parseDays(done.deleted[visibility]),
    ]),
  )
  if (done.state !== 'finished')
    throw new Failure(
      'interrupted',
      `The sweep stopped before it was complete, with ${parseDays(done.deleted.total)} removed.`,
      {
        advice: 'Run it again, or wait for the hourly sweep.',
      },
    )
  terminal.line(
    terminal.good('✓ '),
    `${parseDays(done.deleted.total)} removed${done.held > 0 ? `; ${parseDays(done.held)} stay under a legal hold` : ''}.`,
  )
}

async function showSweeps(session: CommandSession): Promise<void> {
  const { terminal } = session
  const { body } = await session.call(listSweeps, { query: { limit: 20 } })
  terminal.document(body)
  terminal.table(
    ['STARTED', 'BY', 'STATE', 'NETWORK', 'ORG', 'PRIVATE', 'HELD'],
    body.data.map((one) => [
      one.started_at,
      one.requested_by,
      one.state,
      ...periodVisibilities.map((visibility) => parseDays(one.deleted[visibility])),
      parseDays(one.held),
    ]),
  )
}

/** Retention of units. */
export function retentionCommands(program: Command, begin: () => CommandSession): void {
  const retention = program
    .command('retention')
    .summary('manage retention periods and sweeps')
    .description(
      'Manages how long units and skills are retained, by visibility. For admins.\n\nExample:\n  kp retention show',
    )
  retention
    .command('show')
    .summary('show the retention periods')
    .description('Shows the retention period of each visibility, and who set it.\n\nExample:\n  kp retention show')
    .action(() => showRetention(begin()))
  retention
    .command('set')
    .summary('set periods that replace the environment’s')
    .description(
      'First shows how many units and skills of each visibility would be deleted, and asks. Other periods stay unchanged. Lengthens periods only: an admin shortens them in the console, and they are in force after 24 hours.\n\nExample:\n  kp retention set --org-days 1000 --private-days forever',
    )
    .addOption(new Option('--preset <name>', 'all three at once').choices(presetNames))
    .option('--network-days <days>', 'for visibility network; a number, or forever')
    .option('--org-days <days>', 'for visibility org; a number, or forever')
    .option('--private-days <days>', 'for visibility private; a number, or forever')
    .option('--yes', 'set them without a prompt; required in scripts')
    .action((options: SetOptions) => setPeriods(begin(), options))
  retention
    .command('reset')
    .summary('go back to the environment’s periods')
    .description('Removes the periods that admins set.\n\nExample:\n  kp retention reset')
    .action(() => reset(begin()))
  retention
    .command('sweep')
    .summary('delete expired units and skills now')
    .description(
      'Deletes all expired units and skills that are not under a legal hold, and waits until the sweep is done. An hourly job does the same.\n\nExample:\n  kp retention sweep --dry-run',
    )
    .option('--dry-run', 'show what would be deleted, without deleting it')
    .action((options: { dryRun?: boolean }) => runSweep(begin(), options))
  retention
    .command('history')
    .summary('show the last sweeps')
    .description('Shows the last sweeps with their deletions.\n\nExample:\n  kp retention history')
    .action(() => showSweeps(begin()))
}
