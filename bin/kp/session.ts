import { readClientEnv } from '#lib/config/env.ts'
import { type Config, checkWritable, configFolder, readConfig, removeConfig, writeConfig } from './config.ts'
import { usageFailure } from './failure.ts'
import { type Invocation, resolvePath } from './invocation.ts'
import { registryName } from './pins.ts'
import { openRegistryCalls } from './registry-calls.ts'
import { openTerminal } from './terminal.ts'

/** The options of every command. */
export interface GlobalOptions {
  url?: string
  token?: string
  json?: boolean
  quiet?: boolean
  color?: boolean
}

const defaultUrl = 'http://localhost:3000'
const withoutSlash = (url: string): string => url.replace(/\/{1,8}$/, '')

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw usageFailure(`--url must be an address such as ${defaultUrl}, not "${text}".`)
  if (url.username || url.password) throw usageFailure('--url must not contain a user name or a password. Use --token.')
  return withoutSlash(text)
}

/** Everything that a command works with: registry, token, terminal, files. */
export function openCommandSession(invocation: Invocation, options: GlobalOptions) {
  const env = readClientEnv(invocation.env)
  const terminal = openTerminal(invocation, {
    json: options.json ?? false,
    quiet: options.quiet ?? false,
    color: options.color !== false && env.NO_COLOR === undefined,
  })
  const folder = configFolder(env, invocation)
  const stored = readConfig(folder)
  const named = options.url ?? env.KP_URL
  const url = named === undefined ? withoutSlash(stored?.url ?? defaultUrl) : checkedUrl(named)
  // A token is only sent to its own registry.
  const isStoredHere = stored !== undefined && registryName(stored.url) === registryName(url)
  const given = options.token ?? env.KP_TOKEN
  const token = given ?? (isStoredHere ? stored.token : undefined)
  const npmRun = env.npm_lifecycle_event === 'kp'
  return {
    invocation,
    terminal,
    url,
    token,
    folder,
    /** The stored configuration, if it is for this registry. */
    stored: isStoredHere ? stored : undefined,
    /** The stored configuration, if it is for another registry. */
    storedElsewhere: stored && !isStoredHere ? stored : undefined,
    /** Whether the token in use is the stored one, and not one given for this run. */
    usesStored: given === undefined && isStoredHere,
    /** How this user calls kp with these words. */
    command: (words: string): string => `${npmRun ? 'npm run --silent kp --' : 'kp'} ${words}`,
    /** Resolves a path that the user typed. */
    pathOf: (path: string): string => resolvePath(invocation, path),
    /** Checks before any request that the token can be stored. @throws when it cannot */
    checkStorage: (): void => checkWritable(folder),
    remember: (config: Config): void => writeConfig(folder, config),
    forget: (): boolean => removeConfig(folder),
    ...openRegistryCalls({ terminal, url, token, folder }),
  }
}
export type CommandSession = ReturnType<typeof openCommandSession>
