import type { Actor } from '#lib/kernel/context.ts'
import { read } from '#lib/kernel/use-case.ts'
import { readWork, type WorkItem } from './contract.ts'
import { personOf } from './person.ts'
import type { ConsolePorts } from './ports.ts'
import { inTurn, workShown } from './rules.ts'

type WorkPorts = Pick<ConsolePorts, 'exports' | 'requests' | 'erasures' | 'retention'>
type Run = Awaited<ReturnType<ConsolePorts['erasures']['active']>>[number]

function erasureItem(run: Run, isOwn: boolean, seesRequest: boolean): WorkItem {
  return {
    kind: 'erasure',
    id: run.id,
    request_id: seesRequest ? run.requestId : null,
    project_id: isOwn ? run.projectId : null,
    is_own: isOwn,
    state: run.isStuck ? 'stuck' : 'running',
    done: run.stepsDone,
    total: run.stepsTotal,
    started_at: run.createdAt.toISOString(),
  }
}

/** Returns the exports and erasures that the reader started. */
async function ownWork(ports: WorkPorts, actor: Actor, accountId: string, now: Date): Promise<WorkItem[]> {
  const [exports, own] = await Promise.all([ports.exports.active(accountId, now), ports.requests.ownRuns(actor)])
  const runs = await ports.erasures.active({ runs: own.map(({ runId }) => runId), askedBy: actor.id })
  return [
    ...exports.map((one) => ({
      kind: 'export' as const,
      id: one.id,
      request_id: one.requestId,
      project_id: null,
      is_own: true,
      state: one.state === 'queued' ? ('waiting' as const) : ('running' as const),
      done: one.partsDone,
      total: one.partsTotal,
      started_at: one.createdAt.toISOString(),
    })),
    ...runs.map((run) => erasureItem(run, true, true)),
  ]
}

/** Returns the running work that the reader may see as an auditor, and the number of all erasures. */
async function everybodysWork(
  ports: WorkPorts,
  actor: Actor,
  now: Date,
): Promise<{ items: WorkItem[]; erasures: number }> {
  const [runs, sweep] = await Promise.all([
    actor.can('erasures:audit') ? ports.erasures.active() : [],
    actor.can('retention:audit') ? ports.retention.active(now) : undefined,
  ])
  const items = runs.map((run) => erasureItem(run, false, actor.can('privacy:admin')))
  if (sweep)
    items.push({
      kind: 'sweep',
      id: sweep.id,
      request_id: null,
      project_id: null,
      is_own: false,
      state: 'running',
      done: sweep.deleted,
      total: 0,
      started_at: sweep.startedAt.toISOString(),
    })
  return { items, erasures: runs[0]?.total ?? 0 }
}

/** Lists running exports, erasures and retention sweeps. */
export const workInProgress = (ports: WorkPorts) =>
  read(readWork, async ({ actor, now }) => {
    const [own, all] = await Promise.all([
      ownWork(ports, actor, personOf(actor), now),
      everybodysWork(ports, actor, now),
    ])
    const known = new Set(own.map(({ id }) => id))
    const others = all.items.filter(({ id }) => !known.has(id))
    const items = inTurn([...own, ...others])
    // The response may contain only some of the erasures.
    const unseen = Math.max(0, all.erasures - all.items.filter(({ kind }) => kind === 'erasure').length)
    return {
      resourceId: 'work',
      body: {
        data: {
          as_of: now.toISOString(),
          total: items.length + unseen,
          stuck: items.filter(({ state }) => state === 'stuck').length,
          items: items.slice(0, workShown),
        },
      },
    }
  })
