import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

export const port = 3311
/** Where the journeys move the clock of the installation. */
export const controlPort = port + 1
export const origin = `http://localhost:${port}`

/** Where the server's start writes them, readable by its user alone. */
export const credentialsFile = join(tmpdir(), `kp-e2e-${port}.json`)

const Credentials = z.strictObject({
  /** The first admin, with the one-time password of the first start. */
  admin: z.strictObject({ email: z.string(), password: z.string() }),
  /** Somebody with a password of their own, and a name in the console. */
  person: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** Another, for the journey at whose end there is no such account. */
  leaving: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** Of everybody of the demo. */
  password: z.string(),
  /** The folder of the letters that no mail server took. */
  letters: z.string(),
})
export type Credentials = z.output<typeof Credentials>

export const readCredentials = (): Credentials => Credentials.parse(JSON.parse(readFileSync(credentialsFile, 'utf8')))
