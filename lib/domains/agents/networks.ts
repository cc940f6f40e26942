import type { Transaction } from '#lib/kernel/context.ts'
import { registrationsPerHour, registrationWindow } from './rules.ts'

/**
 * Notes a registration from a network; true from the 61st within an hour on. Of two at once from one network, the second waits for the first, so that
 * the count is exact. It does not depend on agents that exist: erasing them frees no windows.
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

/** Deletes networks whose registrations count no more. */
export const forgetNetworks = (tx: Transaction, now: Date): Promise<number> =>
  tx.$executeRaw`DELETE FROM registration_networks WHERE last_at <= ${new Date(now.getTime() - registrationWindow)}`
