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
        continue // else being made just now
      }
      const lock = await takeOwnerLock(run)
      await stopOrphan(join(home, 'pgdata'), run)
      await lock.release()
      rmSync(home, { recursive: true, force: true })
    } catch (error) {
      // In use by another run, another user's, or just removed by one: not ours to clear.
      const isTheirs = ['ENOENT', 'ENOTEMPTY', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')
      if (!(error instanceof DatabaseFault) && !isTheirs) throw error
    }
  }
}

/**
 * A cluster in the temporary folder, for tests and for shadow databases: fast, without a promise to survive a power cut. `isDurable`
 * makes that promise, with the settings of an installation, for measurements. Gone after `stop`.
 */
export async function startTemporary({ isDurable = false } = {}): Promise<EmbeddedDatabase> {
  await sweep()
  const home = mkdtempSync(join(tmpdir(), PREFIX))
  chmodSync(home, 0o755) // the server's account has to pass; what is inside is closed to others
  const remove = () => rmSync(home, { recursive: true, force: true })
  try {
    // Without autovacuum, plans do not depend on when it gathers statistics, and nothing else is at work in the database.
    const tune = isDurable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off']
    const database = await startEmbedded(home, { tune })
    return { ...database, stop: () => database.stop().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}
