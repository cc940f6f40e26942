import type { Database } from '#lib/stores/postgres/database.ts'

export interface ActiveExport {
  id: string
  requestId: string | null
  state: 'queued' | 'running'
  partsDone: number
  /** 0 until the preparation begins. */
  partsTotal: number
  createdAt: Date
}
export interface ExportToFetch {
  id: string
  expiresAt: Date
  records: number
  isDownloaded: boolean
}

/** Milliseconds; older exports have ended. */
const lookedBack = 7 * 86_400_000

/** Returns a person's exports in preparation, newest first; at most 20. */
export const activeExports = (db: Database, accountId: string, now: Date): Promise<ActiveExport[]> =>
  db.query<ActiveExport>(
    'exports-in-hand',
    `SELECT id, request_id AS "requestId", state::text AS state, parts_done AS "partsDone", parts_total AS "partsTotal",
       created_at AS "createdAt"
     FROM prepared_exports WHERE account_id = $1 AND created_at > $2 AND state IN ('queued', 'running')
     ORDER BY created_at DESC, id DESC LIMIT 20`,
    [accountId, new Date(now.getTime() - lookedBack)],
  )

/** Returns a person's exports that are ready, those that expire first at first; at most 5. */
export const exportsToFetch = (db: Database, accountId: string, now: Date): Promise<ExportToFetch[]> =>
  db.query<ExportToFetch>(
    'exports-to-fetch',
    `SELECT id, expires_at AS "expiresAt", records, downloaded_at IS NOT NULL AS "isDownloaded"
     FROM prepared_exports WHERE account_id = $1 AND created_at > $3 AND state = 'ready' AND expires_at > $2
     ORDER BY expires_at, id LIMIT 5`,
    [accountId, now, new Date(now.getTime() - lookedBack)],
  )
