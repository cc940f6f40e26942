import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { ClientEnv } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Failure } from './failure.ts'
import type { Invocation } from './invocation.ts'

const Config = z.object({
  /** The registry of the token. The token is never sent to another one. */
  url: z.url({ protocol: /^https?$/ }),
  token: z.string(),
  agent_id: z.string().optional(),
  key_prefix: z.string().optional(),
})
export type Config = z.output<typeof Config>

export const configFolder = (env: ClientEnv, invocation: Pick<Invocation, 'homeDirectory'>): string =>
  join(env.XDG_CONFIG_HOME ?? join(invocation.homeDirectory, '.config'), 'knowledgepulse')
export const configFile = (folder: string): string => join(folder, 'config.json')

/**
 * Writes a file atomically that only its owner can read (600), in a folder that only its owner can enter (700). An
 * interrupted write leaves the old file.
 */
export function writePrivately(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const unfinished = `${file}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

/** Creates the folder if needed. @throws the system error when files cannot be created in it */
export function checkWritable(folder: string): void {
  const probe = join(folder, `probe-${randomBytes(4).toString('hex')}`)
  writePrivately(probe, '')
  rmSync(probe)
}

/** The text of a file. Undefined when it does not exist. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** JSON that matches the schema. Undefined for anything else. */
export function parsedJson<T>(text: string, schema: z.ZodType<T>): T | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return schema.safeParse(value).data
}

/** Undefined when nobody is signed in. */
export function readConfig(folder: string): Config | undefined {
  const text = readIfThere(configFile(folder))
  if (text === undefined) return undefined
  const config = parsedJson(text, Config)
  if (config) return config
  throw new Failure('bad_config', `${configFile(folder)} is not a valid kp configuration.`, {
    advice: 'Correct it or remove it, then sign in again.',
  })
}

export const writeConfig = (folder: string, config: Config): void =>
  writePrivately(configFile(folder), `${JSON.stringify(config, null, 2)}\n`)

/** Deletes the configuration. Returns whether it existed. */
export function removeConfig(folder: string): boolean {
  const had = readIfThere(configFile(folder)) !== undefined
  rmSync(configFile(folder), { force: true })
  return had
}
