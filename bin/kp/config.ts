import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { ClientEnv } from '#lib/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Failure } from './failure.ts'
import type { Invocation } from './invocation.ts'

const Config = z.object({
  /** The registry that the token is for: it is sent to no other. */
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
 * Writes a file that its owner alone may read (600), in a folder that its owner alone may enter (700). It is whole or as it was
 * before: a kill in the middle leaves no half of it.
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

/** Throws the system's error unless files can be made in the folder, which is made where it is absent. */
export function checkWritable(folder: string): void {
  const probe = join(folder, `probe-${randomBytes(4).toString('hex')}`)
  writePrivately(probe, '')
  rmSync(probe)
}

/** A file's text; undefined where there is none. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** JSON that the schema knows; undefined for anything else. */
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
  throw new Failure('bad_config', `${configFile(folder)} is not a configuration of kp.`, {
    advice: 'Correct it or remove it, then sign in again.',
  })
}

export const writeConfig = (folder: string, config: Config): void =>
  writePrivately(configFile(folder), `${JSON.stringify(config, null, 2)}\n`)

/** Whether there was one. */
export function removeConfig(folder: string): boolean {
  const had = readIfThere(configFile(folder)) !== undefined
  rmSync(configFile(folder), { force: true })
  return had
}
