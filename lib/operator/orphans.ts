import { redisCache } from '#lib/stores/cache/redis.ts'
import { connectNeo4j } from '#lib/stores/graph/neo4j-connection.ts'
import { type FindStore, failureOf } from './find.ts'
import { type ReadOnly, readOnlyPostgres } from './find-postgres.ts'
import { openObjects, placeOf } from './find-stores.ts'

/** Data that an earlier, incomplete deletion left: its thread, conversation, episode or source no longer exists. */
export interface Orphan {
  store: FindStore
  address: string
  what:
    | 'thread without checkpoints'
    | 'writes without their checkpoint'
    | 'thread of a deleted conversation'
    | 'entity without episodes'
    | 'fact without episodes'
    | 'key of a deleted conversation'
    | 'object of a deleted conversation'
  name: string
  /** Rows, records or keys. */
  count: number
}
export interface OrphanReport {
  orphans: Orphan[]
  examined: { store: FindStore; address: string; threads?: number; nodes?: number; keys?: number }[]
  failed: { store: FindStore; address: string; reason: string }[]
}
export interface OrphanSearch {
  postgres: readonly string[]
  neo4j: readonly string[]
  redis: readonly string[]
  objects: readonly string[]
  /** `schema.table.column` with the ids of all conversations that exist. */
  known?: string | undefined
  /** Forms of names of keys and objects, such as `session:{id}:*`. */
  forms: readonly string[]
}

const threadsAtOnce = 500
const idsAtOnce = 5_000
const namesAtOnce = 1_000
const maxKnown = 10_000_000
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** The ids of conversations that exist, as text. */
async function knownIds(within: ReadOnly, column: string): Promise<Set<string>> {
  const parts = column.split('.')
  if (parts.length < 2 || parts.length > 3 || parts.some((part) => part === ''))
    throw new Error(`--known must be schema.table.column, not "${column}".`)
  const [name = '', ...table] = parts.toReversed()
  const ids = new Set<string>()
  await within(async (client) => {
    const place = table.toReversed().map(quoted).join('.')
    await client.query(`DECLARE known NO SCROLL CURSOR FOR SELECT DISTINCT ${quoted(name)}::text AS id FROM ${place}`)
    for (;;) {
      const { rows } = await client.query<{ id: string | null }>('FETCH 5000 FROM known')
      for (const { id } of rows) if (id !== null) ids.add(id)
      if (ids.size > maxKnown) throw new Error(`${column} has more than ${maxKnown} ids.`)
      if (rows.length === 0) return
    }
  })
  return ids
}

/** Whether a name contains the id of a conversation that exists: as a whole, as a part between separators, or as a UUID in it. */
const partsOf = (name: string): string[] => [name, ...name.split(/[:/|#]/), ...(name.match(uuid) ?? [])]
const isNaming = (name: string, ids: ReadonlySet<string>): boolean => partsOf(name).some((part) => ids.has(part))

const schemasSql = `SELECT n.nspname AS schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes') AND c.relkind IN ('r', 'p')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND ($1::text IS NULL OR n.nspname = $1)
  GROUP BY 1 HAVING count(*) = 3 ORDER BY 1`

/** The next distinct threads of a table by its primary key, without reading all rows of each. */
const threadsSql = (table: string) => `WITH RECURSIVE next AS (
    (SELECT thread_id FROM ${table} WHERE thread_id > $1 ORDER BY thread_id LIMIT 1)
    UNION ALL SELECT (SELECT t.thread_id FROM ${table} t WHERE t.thread_id > next.thread_id ORDER BY t.thread_id LIMIT 1) FROM next
      WHERE next.thread_id IS NOT NULL)
  SELECT thread_id AS thread FROM next WHERE thread_id IS NOT NULL LIMIT ${threadsAtOnce}`

async function* threadsOf(within: ReadOnly, table: string): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const rows = await within(
      async (client) => (await client.query<{ thread: string }>(threadsSql(table), [after])).rows,
    )
    if (rows.length === 0) return
    yield rows.map(({ thread }) => thread)
    after = rows.at(-1)?.thread ?? ''
  }
}

/** Threads that only the tables beside `checkpoints` contain, writes of deleted checkpoints, and threads of unknown conversations. */
async function threadOrphans(
  { within, address, schema }: ReturnType<typeof readOnlyPostgres>,
  known: ReadonlySet<string> | undefined,
  found: (orphan: Orphan) => void,
): Promise<{ threads: number; deleted: Set<string> }> {
  const deleted = new Set<string>()
  const seen = new Set<string>()
  const schemas = await within(async (client) => (await client.query<{ schema: string }>(schemasSql, [schema])).rows)
  for (const { schema: name } of schemas) {
    const at = (table: string) => `${quoted(name)}.${quoted(table)}`
    const own = { store: 'postgresql' as const, address }
    for (const table of ['checkpoint_writes', 'checkpoint_blobs'])
      for await (const threads of threadsOf(within, at(table))) {
        for (const thread of threads) seen.add(`${name} ${thread}`)
        const left = await within(
          async (client) =>
            (
              await client.query<{ thread: string; count: number }>(
                `SELECT t.thread_id AS thread, count(*)::int AS count FROM ${at(table)} t WHERE t.thread_id = ANY($1)
                   AND NOT EXISTS (SELECT FROM ${at('checkpoints')} c WHERE c.thread_id = t.thread_id) GROUP BY 1 ORDER BY 1`,
                [threads],
              )
            ).rows,
        )
        for (const { thread, count } of left) {
          deleted.add(thread)
          found({ ...own, what: 'thread without checkpoints', name: `${name}.${table} ${thread}`, count })
        }
        if (table !== 'checkpoint_writes') continue
        const unreferenced = await within(
          async (client) =>
            (
              await client.query<{ thread: string; count: number }>(
                `SELECT w.thread_id AS thread, count(*)::int AS count FROM ${at('checkpoint_writes')} w WHERE w.thread_id = ANY($1)
                   AND EXISTS (SELECT FROM ${at('checkpoints')} c WHERE c.thread_id = w.thread_id)
                   AND NOT EXISTS (SELECT FROM ${at('checkpoints')} c WHERE c.thread_id = w.thread_id
                     AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id) GROUP BY 1 ORDER BY 1`,
                [threads],
              )
            ).rows,
        )
        for (const { thread, count } of unreferenced)
          found({ ...own, what: 'writes without their checkpoint', name: `${name} ${thread}`, count })
      }
    for await (const threads of threadsOf(within, at('checkpoints')))
      for (const thread of threads) {
        seen.add(`${name} ${thread}`)
        if (known === undefined || isNaming(thread, known)) continue
        deleted.add(thread)
        found({ ...own, what: 'thread of a deleted conversation', name: `${name} ${thread}`, count: 1 })
      }
  }
  return { threads: seen.size, deleted }
}

const lastIds = {
  n: 'MATCH (n) RETURN coalesce(max(id(n)), -1) AS most',
  r: 'MATCH ()-[r]->() RETURN coalesce(max(id(r)), -1) AS most',
}
const graphSql = {
  n: `UNWIND range($from, $to) AS i MATCH (n:Entity) WHERE id(n) = i AND NOT EXISTS { (n)<-[:MENTIONS]-(:Episodic) }
    RETURN n.uuid AS uuid, n.group_id AS group`,
  r: `UNWIND range($from, $to) AS i MATCH ()-[r:RELATES_TO]->() WHERE id(r) = i
    UNWIND CASE WHEN size(coalesce(r.episodes, [])) = 0 THEN [''] ELSE r.episodes END AS source
    OPTIONAL MATCH (e:Episodic {uuid: source}) WITH r, count(e) AS alive WHERE alive = 0 RETURN r.uuid AS uuid, r.group_id AS group`,
}

/** Entities that no episode mentions, and facts whose episodes are all gone. */
async function graphOrphans(url: string, found: (orphan: Orphan) => void): Promise<number> {
  const connection = connectNeo4j(url)
  let nodes = 0
  try {
    for (const kind of ['n', 'r'] as const) {
      const [row] = await connection.read((ask) => ask(lastIds[kind]))
      const max = Number(row?.most ?? -1)
      if (kind === 'n') nodes = max + 1
      for (let from = 0; from <= max; from += idsAtOnce) {
        const to = Math.min(max, from + idsAtOnce - 1)
        for (const { uuid: id, group } of await connection.read((ask) => ask(graphSql[kind], { from, to })))
          found({
            store: 'neo4j',
            address: placeOf(url),
            what: kind === 'n' ? 'entity without episodes' : 'fact without episodes',
            name: `${id} of group ${group}`,
            count: 1,
          })
      }
    }
    return nodes
  } finally {
    await connection.close()
  }
}

/** The id in a name of a form: `session:{id}:*`. */
function idReader(forms: readonly string[]): (name: string) => string | undefined {
  const patterns = forms.map((form) => {
    const parts = form.split('{id}')
    if (parts.length !== 2) throw new Error(`--named must contain {id} once, not "${form}".`)
    const [before = '', after = ''] = parts.map((part) =>
      part.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&').replaceAll('*', '.*'),
    )
    return new RegExp(`^${before}([^:/]+)${after}$`, 's')
  })
  return (name) => {
    for (const pattern of patterns) {
      const id = pattern.exec(name)?.[1]
      if (id !== undefined) return id
    }
    return undefined
  }
}

/**
 * Finds what past deletes left behind: rows of LangGraph without their thread, records of Graphiti without episodes, and keys and objects of
 * conversations that no longer exist. Reads only. A store that fails is reported, and the others are examined.
 */
export async function findOrphans(search: OrphanSearch): Promise<OrphanReport> {
  const report: OrphanReport = { orphans: [], examined: [], failed: [] }
  const found = (orphan: Orphan) => void report.orphans.push(orphan)
  const idIn = idReader(search.forms)
  const attempt = async (store: FindStore, address: string, work: () => Promise<object>) => {
    try {
      report.examined.push({ store, address, ...(await work()) })
    } catch (error) {
      report.failed.push({ store, address, reason: failureOf(error) })
    }
  }
  const databases = search.postgres.map(readOnlyPostgres)
  const deleted = new Set<string>()
  let known: Set<string> | undefined
  try {
    // A wrong column must end the run: otherwise every thread would look deleted.
    const first = databases[0]
    if (search.known !== undefined && first) known = await knownIds(first.within, search.known)
    for (const database of databases)
      await attempt('postgresql', database.address, async () => {
        await database.requireSchema()
        const { threads, deleted: erased } = await threadOrphans(database, known, found)
        for (const id of erased) deleted.add(id)
        return { threads }
      })
  } finally {
    for (const { close } of databases) await close()
  }
  for (const url of search.neo4j)
    await attempt('neo4j', placeOf(url), async () => ({ nodes: await graphOrphans(url, found) }))

  const isOrphaned = (name: string): boolean => {
    const id = idIn(name)
    if (id !== undefined && known !== undefined) return !known.has(id)
    return isNaming(name, deleted)
  }
  for (const url of search.redis)
    await attempt('redis', placeOf(url), async () => {
      const cache = redisCache(url)
      let keys = 0
      try {
        const names = await cache.names((name) => {
          keys++
          return isOrphaned(name)
        })
        for (const name of new Set(names))
          found({ store: 'redis', address: placeOf(url), what: 'key of a deleted conversation', name, count: 1 })
      } finally {
        await cache.close()
      }
      return { keys }
    })
  for (const url of search.objects) {
    const { address, open } = openObjects(url)
    await attempt('objects', address, async () => {
      const objects = await open()
      let keys = 0
      try {
        for (let after = ''; ; ) {
          const names = await objects.list('', after, namesAtOnce)
          for (const name of names) {
            keys++
            if (isOrphaned(name))
              found({ store: 'objects', address, what: 'object of a deleted conversation', name, count: 1 })
          }
          if (names.length < namesAtOnce) break
          after = names.at(-1) ?? ''
        }
      } finally {
        await objects.close()
      }
      return { keys }
    })
  }
  return report
}
