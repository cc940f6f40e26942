import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import { makeJob, making } from './making.ts'
import type { SnapshotPorts } from './ports.ts'
import { restoring } from './restoring.ts'
import { agentSnapshots } from './snapshots.ts'
import { dropJob, stateBundles, stateStore } from './state.ts'
import { snapshotUpkeep } from './upkeep.ts'

/** The use cases and the scheduled work of snapshots. */
export function snapshotsService(ports: SnapshotPorts) {
  const made = making(ports)
  const states = stateStore(ports)
  const upkeep = snapshotUpkeep(ports, made)
  return {
    useCases: { ...agentSnapshots(ports, made), ...stateBundles(ports, states), ...restoring(ports, states) },
    jobs: [
      job({
        name: makeJob,
        payload: z.strictObject({ id: z.string() }),
        run: (ctx, { id }) => made.run(id, ctx),
      }),
      job({
        name: dropJob,
        payload: z.strictObject({ agentId: z.string(), id: z.string() }),
        run: (_ctx, { agentId, id }) => states.dropNow(agentId, id),
      }),
      job({ name: 'snapshots.upkeep', payload: z.unknown(), cron: '* * * * *', run: (ctx) => upkeep.run(ctx) }),
      job({ name: 'snapshots.insure', payload: z.unknown(), cron: '*/10 * * * *', run: (ctx) => upkeep.insure(ctx) }),
      job({
        name: 'snapshots.sweep',
        payload: z.unknown(),
        cron: '47 3 * * *',
        run: async (ctx) => {
          await upkeep.sweep(ctx)
        },
      }),
    ],
  }
}
