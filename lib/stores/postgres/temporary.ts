import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EmbeddedDatabase, startEmbedded } from './embedded.ts'
import { DatabaseFault } from './fault.ts'
import { stopOrphan } from './orphan.ts'
import { takeOwnerLock } from './owner-lock.ts'

const PREFIX = 'kp-tmp-'
const ABANDONED = 600_000

/** Removes the clusters of earlier runs that were killed before they could. */
async function sweep() {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const home = join(tmpdir(), name)
    const run = join(home, 'run')
    try {
      if (!existsSync(join(run, 'owner'))) {
        if (Date.now() - statSync(home).mtimeMs > ABANDONED) rmSync(home, { recursive: true, force: true })
        continue // otherwise it is being created now
      }
      const lock = await takeOwnerLock(run)
      await stopOrphan(join(home, 'pgdata'), run)
      await lock.release()
      rmSync(home, { recursive: true, force: true })
    } catch (error) {
      // In use by another run, owned by another user, or just removed by another run: skip it.
      const isTheirs = ['ENOENT', 'ENOTEMPTY', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')
      if (!(error instanceof DatabaseFault) && !isTheirs) throw error
    }
  }
}

/**
 * A cluster in the temporary folder, for tests and shadow databases: fast, but not safe against power failure. With `isDurable` it is,
 * with an installation's settings, for measurements. Deleted by `stop`.
 */
export async function startTemporary({
  isDurable = false,
  tune: more = [],
}: {
  isDurable?: boolean
  /** Further settings of the server, each `name=value`. */
  tune?: readonly string[]
} = {}): Promise<EmbeddedDatabase> {
  await sweep()
  const home = mkdtempSync(join(tmpdir(), PREFIX))
  chmodSync(home, 0o755) // the server's account needs access; the contents are private
  const remove = () => rmSync(home, { recursive: true, force: true })
  try {
    // Without autovacuum, plans do not depend on when it gathers statistics, and no background work disturbs measurements.
    const tune = isDurable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off']
    const database = await startEmbedded(home, { tune: [...tune, ...more] })
    return { ...database, stop: () => database.stop().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}
