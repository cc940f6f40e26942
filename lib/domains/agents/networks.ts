import type { Transaction } from '#lib/kernel/context.ts'
import { registrationsPerHour, registrationWindow } from './rules.ts'

/**
 * Records a registration from a network; returns true from the 61st within an hour on. Concurrent registrations from one network are
 * serialized, so the count is exact. It does not depend on existing agents: erasing them does not reset the limit.
 */
export async function noteRegistration(tx: Transaction, network: Uint8Array<ArrayBuffer>, now: Date): Promise<boolean> {
  const since = new Date(now.getTime() - registrationWindow)
  const [row] = await tx.$queryRaw<{ n: number }[]>`
    INSERT INTO registration_networks AS r (network, times, last_at) VALUES (${network}, ARRAY[${now}::timestamptz], ${now})
    ON CONFLICT (network) DO UPDATE SET last_at = ${now},
      times = ARRAY[${now}::timestamptz] || ARRAY(SELECT t FROM unnest(r.times) t WHERE t > ${since} ORDER BY t DESC LIMIT ${registrationsPerHour})
    RETURNING cardinality(times) AS n`
  return (row?.n ?? 0) > registrationsPerHour
}

/** Deletes networks whose registrations no longer count. */
export const forgetNetworks = (tx: Transaction, now: Date): Promise<number> =>
  tx.$executeRaw`DELETE FROM registration_networks WHERE last_at <= ${new Date(now.getTime() - registrationWindow)}`
