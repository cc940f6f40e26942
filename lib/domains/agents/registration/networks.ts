import type { Transaction } from '#lib/kernel/context.ts'
import { registrationsPerHour, registrationWindow } from '../rules.ts'
import { addRegistration } from './repository.ts'

/**
 * Records a registration from a network; returns true from the 61st within an hour on. Concurrent registrations from one network are
 * serialized, so the count is exact. It does not depend on existing agents: erasing them does not reset the limit.
 */
export async function noteRegistration(tx: Transaction, network: Uint8Array<ArrayBuffer>, now: Date): Promise<boolean> {
  const since = new Date(now.getTime() - registrationWindow)
  const [row] = await addRegistration(tx, { network, now, since, most: registrationsPerHour })
  return (row?.n ?? 0) > registrationsPerHour
}
