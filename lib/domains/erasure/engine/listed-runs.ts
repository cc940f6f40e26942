import type { Prisma } from '#generated/prisma/client.ts'
import { alertAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import { type ErasureRunFilter, type RunTrouble, runTroubles, unsearchedAfter } from '#lib/kernel/erasure-run.ts'

/** The same conditions as in `openRunCounts` and in the compliance checks. */
const troubled = (trouble: RunTrouble, now: Date): Prisma.ErasureRunWhereInput =>
  ({
    stuck: {
      state: { not: 'done' as const },
      OR: [
        { steps: { some: { state: 'stuck' as const } } },
        {
          state: { in: ['planning' as const, 'verifying' as const] },
          AND: [{ fault: { not: null } }, { fault: { not: 'unavailable' } }],
        },
      ],
    },
    waiting: { waits: { some: { since: { lte: new Date(now.getTime() - alertAfter) } } } },
    residue: { state: 'done' as const, steps: { some: { residue: { gt: 0 } } } },
    unsearched: { recheckAt: { lt: new Date(now.getTime() - unsearchedAfter) } },
  })[trouble]
const isTrouble = (state: string): state is RunTrouble => runTroubles.some((one) => one === state)

/** The condition for runs of a list: in one state or with one trouble, and with an id that begins with the text or a request of `requests`. */
export const runsIn = ({ state, search, after, now }: ErasureRunFilter): Prisma.ErasureRunWhereInput => ({
  AND: [
    state === undefined ? {} : isTrouble(state) ? troubled(state, now) : { state },
    search === undefined
      ? {}
      : {
          OR: [
            ...(['id', 'receiptId', 'requestId', 'auditId', 'partId'] as const).map((id) => ({
              [id]: { startsWith: search.text },
            })),
            { requestId: { in: [...search.requests] } },
          ],
        },
    after === undefined ? {} : { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] },
  ],
})
