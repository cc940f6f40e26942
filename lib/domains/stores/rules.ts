import type { heldThings, travellingThings } from './contract.ts'

/** A store that is used is written down once in this time, in milliseconds. */
export const notedFor = 24 * 3_600_000
/** How long a folder without a mark may be taken for one in which nothing was kept, before it is asked anew, in milliseconds. */
export const trustedFor = 10_000

/** The detail of a folder that is not the one that was used; the console says it in its own words. */
export const anotherFolder =
  'this is not the folder that the installation uses: is its disk mounted, and do all machines share it?'

type Held = (typeof heldThings)[number]
type Travelling = (typeof travellingThings)[number]

const held: Record<string, readonly Held[]> = {
  postgresql: ['accounts', 'units', 'projects', 'requests', 'receipts', 'audit'],
  files: ['exports', 'secret'],
  ledger: ['erasures'],
  snapshot_keys: ['keys'],
  backups: ['copies'],
  graph: ['episodes', 'facts'],
  cache: ['answers'],
  objects: ['attachments', 'documents', 'snapshots'],
  checkpoints: ['threads'],
  limits: ['counters'],
}
const travelling: Record<string, readonly Travelling[]> = {
  mail: ['letters'],
  oidc: ['sign-ins'],
  llm: ['prompts'],
  presidio: ['texts'],
  posthog: ['telemetry'],
}

/** What lies in a place; letters lie in the folder of files while no mail server takes them. */
export const heldAt = (name: string, lettersInFolder: boolean): Held[] => [
  ...(held[name] ?? []),
  ...(name === 'files' && lettersInFolder ? (['letters'] as const) : []),
]
/** What travels to a processor. */
export const travelsTo = (name: string): Travelling[] => [...(travelling[name] ?? [])]
