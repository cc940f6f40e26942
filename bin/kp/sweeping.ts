import { setTimeout as delay } from 'node:timers/promises'
import type { Received } from '#lib/client/request.ts'
import { dryRunRetention, listSweeps, readSweep, sweepRetention } from '#lib/domains/retention/contract.ts'
import { Failure } from './failure.ts'
import { count, period, printDryRun, visibilities } from './retention-periods.ts'
import type { Session } from './session.ts'

type Sweep = Received<typeof readSweep>['body']['data']

/** Waits for a sweep that continues after its response. */
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

export async function sweep(session: Session, { dryRun }: { dryRun?: boolean }): Promise<void> {
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

export async function history(session: Session): Promise<void> {
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
