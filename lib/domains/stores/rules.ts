import type { inventoryKinds, travellingThings } from './contract.ts'

/** Minimum interval between records of a store's use, in milliseconds. */
export const storeUseInterval = 24 * 3_600_000
/**
 * How long a folder of prepared exports counts after the last record of its use, in milliseconds: files expire after four hours, and a
 * use is recorded once a day.
 */
export const exportsCountFor = storeUseInterval + 5 * 3_600_000
/** How long an unmarked folder is trusted to be unused before the next check, in milliseconds. */
export const trustedFor = 10_000

/** The error detail for a folder that is not the one used before. The console has its own text. */
export const anotherFolder =
  'this is not the folder that the installation uses. Check that its disk is mounted and that all machines share it'

type InventoryKind = (typeof inventoryKinds)[number]
type Travelling = (typeof travellingThings)[number]

const held: Record<string, readonly InventoryKind[]> = {
  postgresql: ['accounts', 'units', 'projects', 'requests', 'receipts', 'audit'],
  files: ['secret'],
  ledger: ['erasures'],
  snapshot_keys: ['keys'],
  exports: ['exports'],
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

/** The data in a store. Emails are stored in the files folder while there is no mail server. */
export const inventoryOf = (name: string, emailsInFolder: boolean): InventoryKind[] => [
  ...(held[name] ?? []),
  ...(name === 'files' && emailsInFolder ? (['letters'] as const) : []),
]
/** The data that a processor receives. */
export const travelsTo = (name: string): Travelling[] => [...(travelling[name] ?? [])]
