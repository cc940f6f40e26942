import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import * as tokens from './repository.ts'

export type { TokenLookupRow } from './repository.ts'

/** Finds tokens by the SHA-256 of their raw keys, also revoked and expired ones. */
export const tokensByHash = (db: Database, hashes: readonly Buffer[]) => tokens.tokensByHash(db, { hashes })

/** Records the last use of tokens by id. */
export async function noteTokenUses(db: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1))
  await tokens.storeLastUses(db, { ids: sorted.map(([id]) => id), times: sorted.map(([, at]) => at) })
}

/** Records a token's first use. Returns false if the token was deleted. */
export const noteFirstTokenUse = async (db: Database, id: string, now: Date): Promise<boolean> =>
  (await tokens.storeFirstUse(db, { id, now })) > 0

/** Number of all tokens, also revoked and expired ones. */
export const countTokens = (tx: Transaction): Promise<number> => tx.token.count()
