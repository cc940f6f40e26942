import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type SchemaTables, tableReferences } from '#lib/testing/table-references.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file))

/** Owners of tables outside `lib/domains/`, by the name of their schema file. */
const otherOwners: Readonly<Record<string, string>> = { access: 'lib/access', graph: 'lib/stores/graph' }
const folderOf = (owner: string): string => otherOwners[owner] ?? `lib/domains/${owner}`

/** The views that a domain offers to other domains, which may read them. */
const views: Readonly<Record<string, string>> = {
  account_names: 'accounts',
  account_restrictions: 'accounts',
  account_states: 'accounts',
  agent_keyrings: 'grimoire',
  agent_names: 'agents',
  agent_owners: 'agents',
  agent_records: 'knowledge',
  agent_states: 'agents',
  audited_deletions: 'audit',
  audited_tokens: 'audit',
  deletion_records: 'erasure',
  erased_records: 'erasure',
  erasure_scopes: 'erasure',
  fenced: 'erasure',
  holds_in_force: 'holds',
  name_bearers: 'erasure',
  organisation_names: 'accounts',
  organisation_namespaces: 'accounts',
  organisation_quotas: 'accounts',
  participations: 'projects',
  project_organisations: 'projects',
  project_parts: 'projects',
  restricted_agents: 'agents',
  restricted_participants: 'projects',
  restricted_writers: 'projects',
  token_bearers: 'tokens',
}

interface Model {
  name: string
  table: string
  owner: string
  /** Field and type. */
  fields: ReadonlyMap<string, string>
}
const models: readonly Model[] = readdirSync(join(root, 'prisma/schema')).flatMap((file) =>
  [...read(`prisma/schema/${file}`).matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)].map(([, name = '', body = '']) => ({
    name,
    table: /@@map\("([^"]+)"\)/.exec(body)?.[1] ?? name,
    owner: file.replace('.prisma', ''),
    fields: new Map([...body.matchAll(/^\s+(\w+)\s+([A-Z]\w+)/gm)].map(([, field = '', type = '']) => [field, type])),
  })),
)
const ownerOf = new Map(models.map(({ table, owner }) => [table, owner]))
const byName = new Map(models.map((model) => [model.name, model]))
const byDelegate = new Map(models.map((model) => [model.name[0]?.toLowerCase() + model.name.slice(1), model]))
const schema: SchemaTables = {
  isTable: (name) => ownerOf.has(name) || Object.hasOwn(views, name),
  tableOf: (delegate) => byDelegate.get(delegate)?.table,
  relationOf: (delegate, field) => byName.get(byDelegate.get(delegate)?.fields.get(field) ?? '')?.table,
}

/** The present definition of each view. */
const definitions = new Map(
  filesIn('prisma/migrations')
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .flatMap((file) => [
      ...read(file).matchAll(/^CREATE (?:OR REPLACE )?VIEW (\w+)(?: WITH \([^)]*\))? AS\b([^;]*);/gm),
    ])
    .map(([, name = '', query = '']) => [name, query]),
)

const isProduct = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file) && !/^lib\/testing\/|\/suite\//.test(file)
const product = ['lib', 'bin', 'app'].flatMap(filesIn).filter(isProduct)

describe('tables and their owners', () => {
  test('every schema file is named after the domain that owns its tables', () => {
    const owners = [...new Set(models.map(({ owner }) => owner))]
    expect(owners.length).toBeGreaterThan(15)
    for (const owner of owners) expect(filesIn(folderOf(owner)).length, owner).toBeGreaterThan(0)
  })

  test('no file names a table of another domain, except its views to read them', () => {
    expect(product.length).toBeGreaterThan(500)
    const foreign = product.flatMap((file) =>
      tableReferences(read(file), schema).flatMap(({ table, isWrite, line }) => {
        const owner = ownerOf.get(table)
        const isAllowed = owner === undefined ? !isWrite : file.startsWith(`${folderOf(owner)}/`)
        return isAllowed ? [] : [`${file}:${line} ${isWrite ? 'writes' : 'reads'} ${table}, of ${owner ?? 'a view'}`]
      }),
    )
    expect(foreign).toEqual([])
  })

  test('no file of a domain has SQL outside its repository.ts', () => {
    const files = product.filter((file) => file.startsWith('lib/domains/') && !file.endsWith('/repository.ts'))
    expect(files.length).toBeGreaterThan(300)
    const raw = /\$(?:queryRaw|executeRaw)|\bqueryWithin[<(]|\b(?:db|pool)\.query[<(]|\bstatement\(\s*['`]/
    const withSql = files.filter((file) => raw.test(read(file)))
    expect(withSql).toEqual([])
  })

  test('every view is listed with its owner and reads only tables of its owner, and views', () => {
    expect([...definitions.keys()].sort()).toEqual(Object.keys(views).sort())
    const foreign = [...definitions].flatMap(([view, query]) =>
      tableReferences(query, schema).flatMap(({ table }) => {
        const owner = ownerOf.get(table)
        return owner === undefined || owner === views[view] ? [] : [`${view} reads ${table}, of ${owner}`]
      }),
    )
    expect(foreign).toEqual([])
  })
})

describe('tableReferences', () => {
  const found = (source: string) =>
    tableReferences(source, schema).map(({ table, isWrite }) => (isWrite ? `${table}!` : table))

  test.each<[string, string[]]>([
    ['`SELECT 1 FROM units u JOIN "skills" s ON true`', ['units', 'skills']],
    ['`SELECT 1 FROM unnest($1) AS a(id), agents x, LATERAL (SELECT FROM skills) v`', ['agents', 'skills']],
    ['`SELECT 1 FROM agents x, tokens AS t, unnest($1) u`', ['agents', 'tokens']],
    ['`DELETE FROM clade_deltas d USING clade_shares s`', ['clade_deltas!', 'clade_shares']],
    ['`WITH x AS (INSERT INTO units (id) VALUES (1)) UPDATE agents SET a = 1`', ['units!', 'agents!']],
    ['await client.query("LOCK TABLE settings, tokens IN SHARE MODE")', ['settings!', 'tokens!']],
    ['tx.skillFile.findMany({ where: { id } })', ['skill_files']],
    ['await db.prisma.agent\n  .updateMany({ data })', ['agents!']],
    ['tx.snapshot.findUnique({ where: { id }, include: { agent: true } })', ['snapshots', 'agents']],
    ['tx.organisation.deleteMany({ where: { agents: { none: {} } } })', ['organisations!', 'agents']],
    ["const source = 'clade_deltas d LEFT JOIN x'", ['clade_deltas']],
    ["purge({ table: 'heartbeats' })", ['heartbeats']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source code
    ["const all = (table) => `SELECT FROM ${table} x, units`; all('messages')", ['units', 'messages']],
    ['// FROM units\n/* FROM agents */ const address = "https://x.org" // FROM skills', []],
    ["const words = ['agents', 'units']; say('read from units')", []],
  ])('tableReferences returns for %s the tables %j', (source, tables) => expect(found(source)).toEqual(tables))
})
