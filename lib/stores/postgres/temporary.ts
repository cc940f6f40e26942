import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedDatabase, startEmbedded } from './embedded.ts'
import { DatabaseFault } from './fault.ts'
import { stopOrphan } from './orphan.ts'
import { takeOwnerLock } from './owner-lock.ts'

const PREFIX = 'kp-tmp-'

/** Removes the clusters of earlier runs that were killed before they could. */
async function sweep() {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const home = join(tmpdir(), name)
    const run = join(home, 'run')
    if (!existsSync(join(run, 'owner'))) continue // being made just now
    try {
      const lock = await takeOwnerLock(run)
      await stopOrphan(join(home, 'pgdata'), run)
      await lock.release()
      rmSync(home, { recursive: true, force: true })
    } catch (error) {
      if (!(error instanceof DatabaseFault)) throw error // else in use by another run
    }
  }
}

/** A cluster in the temporary folder, for tests and for shadow databases: fast, without a promise to survive a power cut. Gone after `stop`. */
export async function startTemporary(): Promise<EmbeddedDatabase> {
  await sweep()
  const home = mkdtempSync(join(tmpdir(), PREFIX))
  chmodSync(home, 0o755) // the server's account has to pass; what is inside is closed to others
  const database = await startEmbedded(home, { tune: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] })
  return {
    ...database,
    async stop() {
      await database.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}
