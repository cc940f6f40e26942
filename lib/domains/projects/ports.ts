import type { Transaction } from '#lib/kernel/context.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { ExportedStores } from './stored-parts.ts'

export type Locale = 'en' | 'zh'

/** What projects ask of the stores and of domains that they do not know. */
export interface ProjectPorts {
  db: Database
  /** What the export of a project reads beside our tables. */
  stored: ExportedStores
  objects: Pick<ObjectStore, 'put' | 'get' | 'erase' | 'list' | 'versions'>
  /** Those of the ids that were erased here and are never taken again. */
  erasedAmong(tx: Transaction, ids: readonly string[]): Promise<readonly string[]>
  /** Those of the values that were erased here. Throws `unavailable` where the keys cannot be read. */
  isSuppressed(tx: Transaction, kind: 'participant', values: readonly string[]): Promise<readonly string[]>
  /** The address at which a person showed that they receive email; undefined where they did not, or are gone. */
  verifiedAddressOf(tx: Transaction, accountId: string): Promise<string | undefined>
  /** Whether a request for a copy was filed for the participant within the last 30 days, and its filer showed their right to it. */
  copyAskedFor(participantId: string, now: Date): Promise<boolean>
  /** The account with this address, in whatever letters it is written; undefined where there is none. */
  accountWithAddress(tx: Transaction, address: string): Promise<string | undefined>
  /** Where a person is written to; undefined once they are gone. */
  contactOf(tx: Transaction, accountId: string): Promise<{ email: string; locale: Locale } | undefined>
  erasures: Pick<SubjectErasures, 'begin'>
  /** The stores and services that keep data which may lie in this region alone from being placed here. */
  hindering(region: 'eu'): readonly string[]
  /** Whether the graph has episodes of a group already, whoever wrote them. Throws `unavailable`. */
  hasEpisodes(tx: Transaction, group: string): Promise<boolean>
  /** Those of the uuids that are episodes of another group only. None while the graph does not answer. */
  foreignEpisodes(tx: Transaction, group: string, uuids: readonly string[]): Promise<readonly string[]>
  /** Those of the threads that have checkpoints already, whoever wrote them. Throws `unavailable`. */
  withCheckpoints(tx: Transaction, threads: readonly string[]): Promise<readonly string[]>
  /** Keys of the cache and of objects that begin so may be named by any project, though no id of theirs stands in them. */
  pointerPrefixes: readonly string[]
  /** Tells this installation from another that might use the same bucket. */
  installation(): Promise<string>
  /** Our own address, for links in letters. */
  origin: string
}
