import type { Transaction } from '#lib/kernel/context.ts'
import { sameName } from '#lib/text/names.ts'

const namesAtOnce = 10_000

/** Whether one of the participants has this name in any usual form. */
export async function isBorneByParticipant(
  tx: Transaction,
  name: string,
  where: NonNullable<Parameters<Transaction['projectParticipant']['findMany']>[0]>['where'],
): Promise<boolean> {
  const isSame = sameName(name)
  for (let after = ''; ; ) {
    const page = await tx.projectParticipant.findMany({
      where: { AND: [{ ...where }, { id: { gt: after }, name: { not: null } }] },
      orderBy: { id: 'asc' },
      take: namesAtOnce,
      select: { id: true, name: true },
    })
    if (page.some((one) => isSame(one.name ?? ''))) return true
    const last = page.at(-1)
    if (!last) return false
    after = last.id
  }
}
