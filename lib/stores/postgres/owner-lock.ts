import { randomBytes } from 'node:crypto'
import { link, rename, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { errorCode } from '#lib/kernel/error-code.ts'
import { DatabaseFault } from './fault.ts'

export type OwnerLock = { release(): Promise<void> }

const listen = (path: string): Promise<Server> =>
  new Promise((done, fail) => {
    const server = createServer((caller) => {
      caller.on('error', () => {}) // the caller may disconnect before it has read our pid
      caller.end(`${process.pid}\n`)
    }).unref()
    server.once('error', fail).listen(path, () => done(server))
  })

/** The lock owner's pid, `unknown` if it is alive but does not respond, undefined if nobody listens. */
const dataSource = (path: string): Promise<string | undefined> =>
  new Promise((done) => {
    let alive = false
    let said = ''
    const call = connect(path)
    const end = () => {
      call.destroy()
      done(alive ? said.trim() || 'unknown' : undefined)
    }
    call
      .setTimeout(1000, end)
      .on('connect', () => {
        alive = true
      })
      .on('data', (text) => {
        said += text.toString()
      })
      .on('error', end)
      .on('close', end)
  })

/** The pid of the process that owns the folder (`unknown` if it does not respond), undefined if there is none. Does not take the lock. */
export const lockOwner = (folder: string): Promise<string | undefined> => dataSource(join(folder, 'owner'))

const taken = (pid: string) =>
  new DatabaseFault(
    'ALREADY_RUNNING',
    `KnowledgePulse is already running here (process ${pid}) and uses this data directory. Stop it first, or set KP_DATA_DIR to another folder.`,
  )

/**
 * Takes a lock that the kernel releases when its owner dies, for any reason: a listening socket named `owner`. @throws DatabaseFault
 * ALREADY_RUNNING with the owner's pid
 */
export async function takeOwnerLock(folder: string): Promise<OwnerLock> {
  const path = join(folder, 'owner')
  const own = join(folder, `own-${randomBytes(4).toString('hex')}`)
  const server = await listen(own)
  const release = async () => {
    await rm(path, { force: true })
    server.close()
  }
  try {
    for (;;) {
      try {
        await link(own, path) // atomic: only one of several starting processes gets the name
        return { release }
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
      const pid = await dataSource(path)
      if (pid !== undefined) throw taken(pid)
      // Left by a dead owner. It is checked again under a private name, because another starting process may just have replaced it.
      const stale = `${own}-stale`
      try {
        await rename(path, stale)
      } catch (error) {
        if (errorCode(error) === 'ENOENT') continue
        throw error
      }
      const living = await dataSource(stale)
      if (living !== undefined) await link(stale, path)
      await rm(stale, { force: true })
      if (living !== undefined) throw taken(living)
    }
  } catch (error) {
    server.close()
    throw error
  } finally {
    await rm(own, { force: true })
  }
}
