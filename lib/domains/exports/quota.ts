import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { lockExportsOf } from './repository.ts'
import { utcDayOf } from './rules.ts'

/**
 * Whose quota an export counts against: an agent's, when it or its owner requested it; a person's, for the export of
 * all their data.
 */
export type Payer = { agentId: string } | { accountId: string }
export interface ExportOrder {
  subjectId: string
  subjectKind: 'account' | 'agent'
  /** Undefined when an admin requests the export, or when it answers a privacy request. */
  payer: (Payer & { exportsPerDay: number | null }) | undefined
  requestedBy: string
  format: string
  basis: string
  now: Date
}

/** Stored as the requester of exports that answer privacy requests; they count against the person's quota. */
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

/** Returns the number of exports that were started on this UTC day. */
export function exportsOfDay(tx: Transaction, payer: Payer, now: Date): Promise<number> {
  const { start, end } = utcDayOf(now)
  return tx.exportRun.count({ where: { ...ofPayer(payer), at: { gte: start, lt: end } } })
}

/**
 * Records the start of an export. Calls for one payer are serialized, so the limit is exact.
 * @throws Problem `quota_exceeded`, which does not count as a rejection by the rate limiter and revokes no token
 */
export async function beginExport(tx: Transaction, order: ExportOrder): Promise<void> {
  const { subjectId, subjectKind, payer, requestedBy, format, basis, now } = order
  if (payer && payer.exportsPerDay !== null) {
    await lockExportsOf(tx, { payer: 'agentId' in payer ? payer.agentId : payer.accountId })
    const used = await exportsOfDay(tx, payer, now)
    if (used >= payer.exportsPerDay)
      throw new Problem('quota_exceeded', {
        detail: `You can start ${payer.exportsPerDay.toLocaleString('en')} exports per day (UTC). Try again after midnight UTC.`,
        headers: { 'Retry-After': String(Math.ceil((utcDayOf(now).end.getTime() - now.getTime()) / 1000)) },
        extensions: { limit: payer.exportsPerDay, used },
      })
  }
  const agentId = payer && 'agentId' in payer ? payer.agentId : null
  await tx.exportRun.create({
    data: { id: newId('exp'), subjectId, subjectKind, agentId, requestedBy, format, basis, at: now },
  })
}
