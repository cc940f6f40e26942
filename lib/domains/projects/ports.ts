import type { ExportedStores } from '#lib/domains/projects/exporting/stored-parts.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataRegions } from '#lib/kernel/data-regions.ts'
import type { SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export type ProjectLocale = 'en' | 'zh'

/** Functions of stores and other domains that projects need. */
export interface ProjectPorts {
  db: Database
  /** The stores that the export of a project reads besides our tables. */
  stored: ExportedStores
  objects: Pick<ObjectStore, 'put' | 'get' | 'erase' | 'list' | 'versions'>
  /** The values that were erased here. @throws {Problem} `unavailable` if the keys cannot be read */
  isSuppressed(tx: Transaction, kind: 'participant', values: readonly string[]): Promise<readonly string[]>
  erasures: Pick<SubjectErasures, 'begin'>
  /** The regions that projects and conversations can require. */
  regions: DataRegions
  /** Whether the graph already has episodes of a group, by any author. @throws {Problem} `unavailable` */
  hasEpisodes(tx: Transaction, group: string): Promise<boolean>
  /** The uuids that are episodes of another group only. Returns none while the graph does not answer. */
  foreignEpisodes(tx: Transaction, group: string, uuids: readonly string[]): Promise<readonly string[]>
  /** The threads that already have checkpoints, by any author. @throws {Problem} `unavailable` */
  withCheckpoints(tx: Transaction, threads: readonly string[]): Promise<readonly string[]>
  /** Prefixes of cache and object keys that projects may name in pointers without a generated id, in the namespace of their organization. */
  pointerPrefixes: readonly string[]
  /** Identifies this installation among those that might use the same bucket. */
  installation(): Promise<string>
  /** Our own origin, for links in emails. */
  origin: string
}
