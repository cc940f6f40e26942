import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { dayOf } from './rules.ts'

/** Whose quota an export counts in: an agent's, where it or its owner asked for its own; a person's, for everything of theirs. */
export type Payer = { agentId: string } | { accountId: string }
export interface ExportOrder {
  subjectId: string
  subjectKind: 'account' | 'agent'
  /** Undefined where an admin answers a request, or a privacy request is answered. */
  payer: (Payer & { exportsPerDay: number | null }) | undefined
  requestedBy: string
  format: string
  basis: string
  now: Date
}

/** Who asks for the copy that a privacy request wants; it counts in the person's quota, too. */
export const requestActor = 'system:privacy.request'

const ofPayer = (payer: Payer) =>
  'agentId' in payer
    ? { agentId: payer.agentId }
    : {
        subjectId: payer.accountId,
        subjectKind: 'account',
        agentId: null,
        requestedBy: { in: [`user:${payer.accountId}`, requestActor] },
      }

/** How many exports of the day were begun already. */
export function exportsOfDay(tx: Transaction, payer: Payer, now: Date): Promise<number> {
  const { start, end } = dayOf(now)
  return tx.exportRun.count({ where: { ...ofPayer(payer), at: { gte: start, lt: end } } })
}

/**
 * Notes that an export begins. Exact under concurrency: those of one payer wait for each other. Throws `quota_exceeded`, which is no
 * refusal of the rate limiter and revokes nothing.
 */
export async function beginExport(tx: Transaction, order: ExportOrder): Promise<void> {
  const { subjectId, subjectKind, payer, requestedBy, format, basis, now } = order
  if (payer && payer.exportsPerDay !== null) {
    const whose = 'agentId' in payer ? payer.agentId : payer.accountId
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('export:' || ${whose}, 0))`
    const used = await exportsOfDay(tx, payer, now)
    if (used >= payer.exportsPerDay)
      throw new Problem('quota_exceeded', {
        detail: `${payer.exportsPerDay.toLocaleString('en')} exports a day are allowed; the next day begins at midnight UTC. Nothing was lost.`,
        headers: { 'Retry-After': String(Math.ceil((dayOf(now).end.getTime() - now.getTime()) / 1000)) },
        extensions: { limit: payer.exportsPerDay, used },
      })
  }
  const agentId = payer && 'agentId' in payer ? payer.agentId : null
  await tx.exportRun.create({
    data: { id: newId('exp'), subjectId, subjectKind, agentId, requestedBy, format, basis, at: now },
  })
}
