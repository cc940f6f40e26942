import { setTimeout as delay } from 'node:timers/promises'
import type { ResponseOf } from '#lib/client/request.ts'
import { dryRunRetention, listSweeps, readSweep, sweepRetention } from '#lib/domains/retention/contract.ts'
import { Failure } from './failure.ts'
import { parseDays, period, periodVisibilities, printDryRun } from './retention-periods.ts'
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

export async function runSweep(session: CommandSession, { dryRun }: { dryRun?: boolean }): Promise<void> {
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

export async function showSweeps(session: CommandSession): Promise<void> {
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
