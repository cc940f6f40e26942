import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { namedObjects } from './repository.ts'

/** Of these keys in the object store, those of snapshots and uploaded states with a row. */
export const snapshotObjects = async (db: Queryable, keys: readonly string[]): Promise<string[]> =>
  (await namedObjects(db, { keys })).map(({ key }) => key)
