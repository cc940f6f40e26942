import { z } from 'zod'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { rememberedPorts } from '#lib/stores/registered-store.ts'

const KnownStoreId = z.string().regex(/^store_[0-9A-Za-z]{22}$/, 'is not the id of a store')

/** Kinds of stored and transferred data. The console has a text for each. */
export const inventoryKinds = [
  'accounts',
  'units',
  'projects',
  'requests',
  'receipts',
  'audit',
  'exports',
  'letters',
  'secret',
  'erasures',
  'copies',
  'episodes',
  'facts',
  'answers',
  'attachments',
  'documents',
  'snapshots',
  'keys',
  'threads',
  'counters',
] as const
export const travellingThings = ['letters', 'sign-ins', 'prompts', 'texts', 'telemetry'] as const

const place = sharedFields('StoreLocation', {
  name: z.string().meta({ description: 'The name in KP_REGIONS' }),
  provider: z
    .string()
    .meta({ description: 'The kind of store: postgresql, neo4j, redis, memory, s3, gcs, files, smtp …' }),
  region: z.string().nullable().meta({ description: 'The provider’s name for the region; null if not stated' }),
  region_source: z
    .enum(['stated', 'derived', 'within'])
    .nullable()
    .meta({ description: 'Source of the region: KP_REGIONS, the store’s address, or the location that contains it' }),
  host: z.string().nullable().meta({ description: 'The provider of the region: aws, google, hetzner, own …' }),
  country: z.string().nullable().meta({ description: 'ISO 3166-1, or EU' }),
  jurisdiction: z.enum(['eea', 'outside', 'unknown']),
})

export const StoreView = z
  .strictObject({
    ...place,
    port: z.enum(rememberedPorts).nullable(),
    address: z.string().nullable().meta({ description: 'Without credentials; null: inside this process' }),
    state: z.enum(['ok', 'degraded', 'down', 'unchecked', 'off']).meta({
      description: 'off: it stored data and is switched off. unchecked: this process cannot check it',
    }),
    latency_ms: z.number().nullable().meta({ description: 'Of one round trip' }),
    detail: z.string().nullable(),
    holds: z.array(z.enum(inventoryKinds)),
    is_connected: z.boolean(),
    known_store_id: KnownStoreId.nullable().meta({ description: 'When it was first used' }),
    first_seen: time().nullable(),
    last_seen: time().nullable(),
  })
  .meta({ id: 'Store' })
export type StoreView = z.output<typeof StoreView>

export const ProcessorView = z
  .strictObject({ ...place, address: z.string().nullable(), travels: z.array(z.enum(travellingThings)) })
  .meta({ id: 'Processor' })
export type ProcessorView = z.output<typeof ProcessorView>

const store = { resourceType: 'store' }

export const listStores = operation({
  id: 'listStores',
  method: 'get',
  path: '/api/stores',
  summary: 'List stores and processors with region, state and latency',
  description:
    'Checks every store during the request. A store that stored data and is switched off remains in the list. Erasures that concern it wait until it is switched on or retired.',
  permission: 'stores:audit',
  audit: store,
  output: z.strictObject({
    data: z.strictObject({
      residency: z.enum(['eu']).nullable(),
      projects_outside: z
        .strictObject({
          total: z.number().int(),
          project_ids: z.array(z.string()).meta({ description: 'The oldest of them, at most 100' }),
        })
        .meta({
          description:
            'Projects that require a region although a store is outside of it or its region is not stated, for example after a change of settings',
        }),
      agents_outside: z
        .strictObject({
          total: z.number().int(),
          agent_ids: z.array(z.string()).meta({ description: 'The oldest of them, at most 100' }),
        })
        .meta({
          description:
            'Agents in the same situation. Meanwhile a PostHog outside of their region receives nothing about them, and a Presidio outside of it receives nothing.',
        }),
      stores: z.array(StoreView),
      processors: z.array(ProcessorView),
    }),
  }),
})

const RetiredStore = z.strictObject({
  id: KnownStoreId,
  port: z.string(),
  provider: z.string(),
  address: z.string(),
  retired_at: time(),
  retired_by: z.string(),
})
export const retireStore = operation({
  needsRecentPassword: true,
  id: 'retireStore',
  method: 'post',
  path: '/api/stores/{id}/retire',
  summary: 'Confirm that a switched-off store contains no more data',
  description:
    'Erasures no longer wait for this store and no longer prove anything about it. The person who confirms is responsible. If the store is used again, it is listed again.',
  permission: 'stores:admin',
  audit: { action: 'update', ...store },
  params: z.strictObject({ id: KnownStoreId }),
  body: z.strictObject({
    statement: z
      .string()
      .trim()
      .min(10, 'must have at least 10 characters')
      .max(1000, 'must have at most 1,000 characters')
      .meta({ description: 'What was done with the data there. Plain text, stored with the audit entry' }),
  }),
  output: z.strictObject({ data: RetiredStore }),
  refusals: ['approval_required', 'conflict', 'content_rejected', 'not_found'],
})

/** Kinds of stores that a search for a person reads. */
const searchedKinds = ['postgresql', 'neo4j', 'redis', 'objects'] as const
const SearchedPlace = z.strictObject({
  store: z.enum(searchedKinds),
  kind: z.string().meta({ description: 'thread, row, entity, key, object …' }),
  name: z.string().meta({
    description:
      'Shortened: a table, or the words before the first separator, then a keyed hash that is equal for equal names. `kp find` on the server prints full names',
  }),
  field: z.string().nullable(),
  matches: z.number().int().meta({ description: 'Words that certainly mean the person' }),
  possible: z.number().int().meta({ description: 'Words that may mean somebody else: single names, initials' }),
})
/** What a search for a person found so far. */
export const StoreSearch = z.strictObject({
  state: z.enum(['searching', 'done']),
  stores: z.array(
    z.strictObject({
      store: z.enum(searchedKinds),
      address: z.string().meta({ description: 'Without credentials' }),
      is_own: z.boolean().meta({ description: 'Threads in the database of this installation' }),
      state: z.enum(['searching', 'done', 'failed']),
      records: z.number().int(),
      unread: z.record(z.string(), z.number().int()).meta({ description: 'Data that was not searched, by reason' }),
      skipped: z.array(z.string()),
      failure: z.string().nullable(),
    }),
  ),
  found: z.number().int().meta({
    description: 'Number of places. Beyond 1,000, a place whose texts are stored far apart may be counted again',
  }),
  places: z
    .array(SearchedPlace)
    .meta({ description: 'In the last event only: those with most matches, at most 1,000' }),
})
export type StoreSearch = z.output<typeof StoreSearch>

export const searchStores = operation({
  id: 'searchStores',
  method: 'post',
  path: '/api/stores/search',
  summary: 'Search the connected stores for a person',
  description:
    'Reads every text of the connected stores like the verification of an erasure, and sends places and counts as server-sent events, without content. Writes nothing. The audit entry contains a keyed hash of each entry. One search at a time. Refused while two-person approval is on.',
  permission: 'stores:admin',
  needsRecentPassword: true,
  audit: { action: 'read', ...store },
  body: z.strictObject({
    names: z
      .array(z.string().trim().min(2, 'must have at least 2 characters').max(200))
      .min(1, 'must contain a name, an email address or a telephone number')
      .max(20)
      .meta({
        description:
          'Names, email addresses and telephone numbers of one person. Each must identify a person: single words are refused',
      }),
  }),
  output: z.string(),
  produces: ['text/event-stream'],
  refusals: ['approval_required', 'conflict'],
})
