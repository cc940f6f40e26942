import { createHash } from 'node:crypto'
import { z } from 'zod'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { isSupported, type Neo4jConnection } from './neo4j-connection.ts'

/**
 * Full-text indexes of the facts' sources, and of the facts in episodes' `entityEdges`. Each list element is one term, which a property
 * index does not support.
 */
export const sources = 'knowledgepulse_sources'
export const listedFactsIndex = 'knowledgepulse_noted'
/**
 * Full-text index of runs of letters in the properties that may name an id: finds an id whatever surrounds it (`message:msg_1`,
 * `msg_1.md`).
 */
export const namings = 'knowledgepulse_namings'
const exact = "OPTIONS {indexConfig: {`fulltext.analyzer`: 'keyword'}}"
const definitions: Record<string, string> = {
  knowledgepulse_page: 'CREATE CONSTRAINT $ IF NOT EXISTS FOR (n:KnowledgePulsePage) REQUIRE n.key IS UNIQUE',
  knowledgepulse_group: 'CREATE CONSTRAINT $ IF NOT EXISTS FOR (n:KnowledgePulseGroup) REQUIRE n.group_id IS UNIQUE',
  knowledgepulse_episode: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Episodic) ON (n.uuid)',
  knowledgepulse_entity: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Entity) ON (n.uuid)',
  knowledgepulse_community: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Community) ON (n.uuid)',
  knowledgepulse_saga: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Saga) ON (n.uuid)',
  knowledgepulse_fact: 'CREATE INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.uuid)',
  knowledgepulse_episodes_of: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Episodic) ON (n.group_id, n.uuid)',
  knowledgepulse_episodes_valid: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Episodic) ON (n.group_id, n.valid_at)',
  knowledgepulse_episodes_created: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Episodic) ON (n.group_id, n.created_at)',
  knowledgepulse_entities_by_id: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.uuid)',
  knowledgepulse_facts_by_id: 'CREATE INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.group_id, r.uuid)',
  knowledgepulse_entities_of: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Entity) ON (n.group_id)',
  knowledgepulse_communities_of: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Community) ON (n.group_id)',
  knowledgepulse_sagas_of: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Saga) ON (n.group_id)',
  knowledgepulse_facts_of: 'CREATE INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.group_id)',
  knowledgepulse_ended: 'CREATE INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.group_id, r.expired_at)',
  knowledgepulse_saga_first: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Saga) ON (n.first_episode_uuid)',
  knowledgepulse_saga_last: 'CREATE INDEX $ IF NOT EXISTS FOR (n:Saga) ON (n.last_episode_uuid)',
  [sources]: `CREATE FULLTEXT INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON EACH [r.episodes] ${exact}`,
  [namings]:
    "CREATE FULLTEXT INDEX $ IF NOT EXISTS FOR (n:Episodic) ON EACH [n.group_id, n.name, n.source_description, n.episode_metadata] OPTIONS {indexConfig: {`fulltext.analyzer`: 'simple'}}",
  [listedFactsIndex]: `CREATE FULLTEXT INDEX $ IF NOT EXISTS FOR (n:Episodic) ON EACH [n.entity_edges] ${exact}`,
}
const Named = z.array(z.object({ name: z.string() }))
const Stated = z.array(z.object({ name: z.string(), state: z.string() }))
/** How long to wait for an index to be populated, in seconds, before the caller is told to retry. */
const buildWithin = 60
const wordsOf = 'knowledgepulse_words_'
/** Embeddings are not text. */
const isText = (key: string) => !key.endsWith('_embedding') && !key.startsWith('knowledgepulse_')

/** The names of the word indexes over every property of nodes and of relationships. */
export interface WordIndexes {
  nodes: string
  relations: string
  /** The maximum number of phrases in one query: each is searched in each property, and Lucene allows 1,024 clauses. */
  phrases: number
}
export interface Indexes {
  /** Checks the version and creates what is missing, once per connection. */
  ready(): Promise<void>
  /** Also creates word indexes over all property names that exist now: the names of attributes depend on the ontology. */
  words(): Promise<WordIndexes>
}

export function neo4jIndexes(connection: Neo4jConnection): Indexes {
  const states = async () => {
    const rows = await connection.read((ask) => ask('SHOW INDEXES YIELD name, state RETURN name, state'))
    return new Map(Stated.parse(rows).map(({ name, state }) => [name, state]))
  }
  const create = async (wanted: Record<string, string>) => {
    const before = await states()
    for (const [name, text] of Object.entries(wanted))
      if (!before.has(name)) await connection.define(text.replace('$', () => name))
    // Waits for these only: `db.awaitIndexes` also waits for the indexes of other applications, and fails if one of them failed or
    // was dropped. An index with the same properties and another name takes the place of ours.
    const after = await states()
    for (const name of Object.keys(wanted))
      if (after.get(name) === 'POPULATING')
        await connection.read((ask) => ask('CALL db.awaitIndex($name, $seconds)', { name, seconds: buildWithin }))
  }
  const prepare = async () => {
    const [row] = await connection.read((ask) =>
      ask('CALL dbms.components() YIELD name, versions WHERE name = "Neo4j Kernel" RETURN versions[0] AS version'),
    )
    const version = String(row?.version)
    if (!isSupported(version))
      throw unusableStore('too_old', {
        detail: `The knowledge graph requires Neo4j 5.26 or newer, but the server has version ${version}. Update the server.`,
      })
    // Creates our own property names before the first listing, so that they do not cause new word indexes.
    for (const name of ['key', 'outcome', 'taken']) await connection.define(`CALL db.createProperty('${name}')`)
    await create(definitions)
  }
  let prepared: Promise<void> | undefined
  const ready = async () => {
    prepared ??= prepare()
    try {
      await prepared
    } catch (error) {
      prepared = undefined
      throw error
    }
  }
  let latest: { hash: string; made: Promise<void> } | undefined
  return {
    ready,
    async words() {
      await ready()
      const rows = await connection.read((ask) => ask('CALL db.propertyKeys() YIELD propertyKey AS name RETURN name'))
      const keys = Named.parse(rows)
        .map(({ name }) => name)
        .filter(isText)
        .sort()
      const each = (of: string) => keys.map((key) => `${of}.\`${key.replaceAll('`', '``')}\``).join(', ')
      const hash = createHash('sha256').update(JSON.stringify(keys)).digest('hex').slice(0, 12)
      const made = {
        nodes: `${wordsOf}nodes_${hash}`,
        relations: `${wordsOf}relations_${hash}`,
        phrases: Math.max(1, Math.floor(1_000 / (keys.length + 1))),
      }
      const make = async () => {
        await create({
          [made.nodes]: `CREATE FULLTEXT INDEX $ IF NOT EXISTS FOR (n:Episodic|Entity|Community|Saga) ON EACH [${each('n')}]`,
          [made.relations]: `CREATE FULLTEXT INDEX $ IF NOT EXISTS FOR ()-[r:RELATES_TO|NEXT_EPISODE|HAS_EPISODE]-() ON EACH [${each('r')}]`,
        })
        for (const name of (await states()).keys())
          if (name.startsWith(wordsOf) && !name.endsWith(hash)) await connection.define(`DROP INDEX ${name} IF EXISTS`)
      }
      if (latest?.hash !== hash) latest = { hash, made: make() }
      try {
        await latest.made
      } catch (error) {
        latest = undefined
        throw error
      }
      return made
    },
  }
}

/**
 * Scripts in which Lucene's standard tokenizer treats a whole run as one word (Thai, Lao, Burmese, Khmer, Katakana, Hangul), so that a
 * sought text may be part of a word.
 */
const inRuns = /([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u30a1-\u30ff\uac00-\ud7af]+)/
/** A text in Lucene's syntax: a phrase, except for such runs, which are matched inside words. */
function phraseOf(text: string): string {
  const pieces = text
    .split(inRuns)
    .map((piece, n) => (n % 2 === 1 ? `*${piece}*` : hasWord.test(piece) ? quoted(piece) : ''))
    .filter((piece) => piece !== '')
  return pieces.length > 1 ? `(${pieces.map((piece) => `+${piece}`).join(' ')})` : (pieces[0] ?? quoted(text))
}
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
export const hasWord = /[\p{L}\p{N}]/u

/** Full-text queries for ids or names, each as a phrase, with as many per query as Lucene allows. */
export function* phrases(texts: readonly string[], max = 400): Iterable<{ texts: string[]; query: string }> {
  for (let at = 0; at < texts.length; at += max) {
    const some = texts.slice(at, at + max)
    yield { texts: some, query: some.map(phraseOf).join(' ') }
  }
}
/** A query for texts as phrases in these properties only. */
export const inProperties = (properties: readonly string[], texts: readonly string[]): string =>
  texts.flatMap((text) => properties.map((property) => `${property}:${phraseOf(text)}`)).join(' ')
/** Restricts a query to a group. */
export const neo4jInGroup = (group: string, query: string): string => `+group_id:${quoted(group)} +(${query})`
