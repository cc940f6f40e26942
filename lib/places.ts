import type { Env } from './env.ts'
import { isEmbedded } from './stores/postgres/place.ts'

/**
 * Where what is held lies, and who else gets some of it, as far as the settings tell: kinds of places, never their addresses. Which
 * region and which provider that is, is the operator's to state.
 */
export interface Places {
  postgresql: 'embedded' | 'server'
  files: 'folder'
  ledger: 'folder' | 'apart'
  /** Who takes letters. */
  mail: 'folder' | 'server'
  /** Where it is counted how often somebody asks, for a minute. */
  limits: 'here' | 'redis'
}

type Settings = Pick<
  Env,
  'DATABASE_URL' | 'KP_DATA_DIR' | 'KP_LEDGER_URL' | 'KP_SMTP_URL' | 'KP_REDIS_URL' | 'KP_LIMITS'
>

export const placesOf = (env: Settings): Places => ({
  postgresql: isEmbedded(env.DATABASE_URL, env.KP_DATA_DIR) ? 'embedded' : 'server',
  files: 'folder',
  ledger: env.KP_LEDGER_URL === undefined ? 'folder' : 'apart',
  mail: env.KP_SMTP_URL === undefined ? 'folder' : 'server',
  limits: env.KP_REDIS_URL !== undefined && ['auto', 'redis'].includes(env.KP_LIMITS) ? 'redis' : 'here',
})

const words = {
  postgresql: {
    embedded: 'the embedded PostgreSQL on this installation’s machine',
    server: 'PostgreSQL at the operator’s server',
  },
  files: { folder: 'the data folder of this installation' },
  ledger: {
    folder: 'the data folder of this installation, outside the database',
    apart: 'the folder that the operator set for it, apart from the database',
  },
}
/** In words, for the inventory: where a store is. */
export function placeNamed(places: Places, store: string): string {
  if (store === 'postgresql') return words.postgresql[places.postgresql]
  if (store === 'ledger') return words.ledger[places.ledger]
  return store === 'files' ? words.files[places.files] : 'this installation'
}
