import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

/** The port of the installation. Another one lets two runs share a machine. */
export const port = Number(process.env.KP_BROWSER_PORT ?? 3311)
/** The port through which journeys move the clock. */
export const controlPort = port + 1
export const origin = `http://localhost:${port}`

/** The file for the credentials, readable only by its user. */
export const credentialsFile = join(tmpdir(), `kp-e2e-${port}.json`)

const DemoCredentials = z.strictObject({
  /** The first admin, with the one-time password of the first start. */
  admin: z.strictObject({ email: z.string(), password: z.string() }),
  /** A person with a password, and a name in the console. */
  person: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** Another person, for the journey that erases the account. */
  leaving: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** A person without agents, for the journey of the first run. */
  starting: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** A person for the journey by keyboard, which erases the account. */
  typing: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** A person whose computer sleeps while the account is erased. */
  sleeping: z.strictObject({ email: z.string(), password: z.string(), name: z.string() }),
  /** The password of all demo people. */
  password: z.string(),
  /** The folder of emails, because there is no mail server. */
  letters: z.string(),
})
export type DemoCredentials = z.output<typeof DemoCredentials>

export const readCredentials = (): DemoCredentials =>
  DemoCredentials.parse(JSON.parse(readFileSync(credentialsFile, 'utf8')))
