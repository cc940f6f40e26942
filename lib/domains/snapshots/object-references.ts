import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { anyObject } from './repository.ts'

/** Whether a snapshot or an uploaded state names an object in the object store. */
export const snapshotsNameObjects = async (on: Queryable): Promise<boolean> => (await anyObject(on, {})).length > 0
