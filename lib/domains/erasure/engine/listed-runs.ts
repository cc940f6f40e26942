import type { Prisma } from '#generated/prisma/client.ts'
import type { ErasureRunFilter } from '#lib/kernel/erasure-run.ts'

/** Like `stuck` of `openRunCounts`. */
const stuck: Prisma.ErasureRunWhereInput = {
  state: { not: 'done' },
  OR: [
    { steps: { some: { state: 'stuck' } } },
    { state: { in: ['planning', 'verifying'] }, AND: [{ fault: { not: null } }, { fault: { not: 'unavailable' } }] },
  ],
}

/** The condition for runs of a list: in one state, and with an id that begins with the text or a request of `requests`. */
export const runsIn = ({ state, search, after }: ErasureRunFilter): Prisma.ErasureRunWhereInput => ({
  AND: [
    state === undefined ? {} : state === 'stuck' ? stuck : { state },
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
