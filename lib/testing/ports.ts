import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '#lib/kernel/error-code.ts'

/**
 * Operating systems choose ports for outgoing connections and for `listen(0)` from 32768 upwards. No such port can be taken from a server
 * between the moment it is chosen and the moment the server listens on it, or while the server restarts.
 */
const [lowest, limit] = [12_000, 32_000]
const maxTries = 100

/** A port on 127.0.0.1 that no process listens on. Two callers choose the same port only by chance. */
export async function freeTestPort(): Promise<number> {
  for (let tries = 0; tries < maxTries; tries++) {
    const port = randomInt(lowest, limit)
    const server = createServer()
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
    } catch (error) {
      if (errorCode(error) === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error(`found no free port in ${maxTries} tries`)
}
