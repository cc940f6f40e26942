import type { Database } from '#lib/stores/postgres/database.ts'

/** Milliseconds for which a request for a copy of a participant's data opens the export to managers and admins. */
const copyOpen = 30 * 86_400_000

/** Returns true when a verified request for access or portability exists for the participant, verified within 30 days. */
export const requestedCopy =
  (db: Database) =>
  async (participantId: string, now: Date): Promise<boolean> => {
    const records = await db.query(
      'copy-asked-for',
      `SELECT 1 AS found FROM privacy_requests WHERE participant_id = $1 AND kinds && ARRAY['access', 'portability']
         AND state NOT IN ('cancelled', 'rejected') AND verified_at > $2 LIMIT 1`,
      [participantId, new Date(now.getTime() - copyOpen)],
    )
    return records.length > 0
  }
