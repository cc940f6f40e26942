import { createHash } from 'node:crypto'
import type { Entity, Episode, Fact } from '#lib/stores/graph/graph.ts'
import type { PlantedGraph } from './planted-graph.ts'

const start = Date.UTC(2026, 0, 1)
const hour = 3_600_000
export const at = (hours: number): Date => new Date(start + hours * hour)

export const episode = (uuid: string, hours: number, more: Partial<Episode> = {}): Episode => ({
  uuid,
  name: `episode ${uuid}`,
  source: 'message',
  sourceDescription: 'chat',
  content: `content of ${uuid}`,
  entityEdges: [],
  createdAt: at(hours),
  validAt: at(hours),
  metadata: {},
  ...more,
})
export const entity = (uuid: string, name: string, labels: string[], more: Partial<Entity> = {}): Entity => ({
  uuid,
  name,
  labels,
  summary: `summary of ${uuid}`,
  attributes: {},
  createdAt: at(0),
  ...more,
})
export const fact = (
  uuid: string,
  source: string,
  target: string,
  episodes: string[],
  more: Partial<Fact> = {},
): Fact => ({
  uuid,
  source,
  target,
  name: 'WORKS_WITH',
  fact: `wording of ${uuid}`,
  episodes,
  attributes: { made: `attribute of ${uuid}` },
  createdAt: at(0),
  validAt: null,
  invalidAt: null,
  expiredAt: null,
  referenceTime: null,
  ...more,
})

/** Occurs in the first episode of {@link dealGraph}, and everywhere that Graphiti would copy it. */
export const sentence = 'Xanadu Beispielfrau hides a quokka in the vault'

/**
 * A deal as Graphiti writes it, with every case that the erasure of its first episode `e1` can meet. Ids end in the
 * names below. `isBulk`: as bulk ingestion writes it, without `entityEdges`.
 */
export function dealGraph(group: string, { isBulk = false } = {}): PlantedGraph & { id(name: string): string } {
  const id = (name: string) => `${group}-${name}`
  const ids = (...names: string[]) => names.map(id)
  const edges = (...names: string[]) => (isBulk ? [] : ids(...names).sort())
  return {
    id,
    group,
    episodes: [
      episode(id('e1'), 10, {
        content: `${sentence}.`,
        entityEdges: edges('f-alone', 'f-first', 'f-second', 'f-person', 'f-ended'),
      }),
      episode(id('e2'), 20, { content: 'Xanadu Beispielfrau came back.', entityEdges: edges('f-person-other') }),
      episode(id('e3'), 30, { entityEdges: edges('f-first', 'f-second', 'f-theirs') }),
      episode(id('e4'), 40, { entityEdges: edges('f-lonely', 'f-theirs') }),
      episode(id('e5'), 50),
    ],
    entities: [
      entity(id('person'), 'Xanadu Beispielfrau', ['Person'], { summary: sentence }),
      entity(id('company'), 'Nowhere Works', ['Company'], { summary: sentence, attributes: { note: sentence } }),
      entity(id('lonely'), 'Vault Deal', ['Deal'], { summary: sentence }),
      entity(id('plain'), 'Quokka Nobody', []),
      entity(id('marked'), 'Marked Finding', ['Finding'], { attributes: { pii: true } }),
      entity(id('mailed'), 'Mailed Works', ['Company'], { summary: 'Ask somebody@example.org there.' }),
      entity(id('theirs'), 'Elsewhere Works', ['Company']),
    ],
    facts: [
      fact(id('f-person'), id('person'), id('company'), ids('e1'), { fact: sentence }),
      fact(id('f-person-other'), id('person'), id('theirs'), ids('e2')),
      fact(id('f-alone'), id('company'), id('theirs'), ids('e1'), { fact: sentence }),
      fact(id('f-first'), id('company'), id('theirs'), ids('e1', 'e3'), {
        name: 'HIDES_IN',
        fact: sentence,
        attributes: { said: sentence },
        referenceTime: at(10),
      }),
      fact(id('f-second'), id('company'), id('theirs'), ids('e3', 'e1'), { attributes: { said: sentence } }),
      fact(id('f-lonely'), id('lonely'), id('theirs'), ids('e4')),
      fact(id('f-theirs'), id('theirs'), id('company'), ids('e3'), { fact: 'They met XANADU  beispielfrau once.' }),
      fact(id('f-ended'), id('company'), id('theirs'), ids('e5'), {
        validAt: at(1),
        invalidAt: at(10),
        expiredAt: at(10.01),
      }),
      fact(id('f-maybe'), id('theirs'), id('company'), ids('e5'), {
        validAt: at(1),
        invalidAt: at(10),
        expiredAt: at(10.02),
      }),
      fact(id('f-before'), id('theirs'), id('company'), ids('e5'), {
        validAt: at(1),
        invalidAt: at(2),
        expiredAt: at(3),
      }),
    ],
    mentions: [
      ...['person', 'company', 'lonely', 'plain', 'marked', 'mailed'].map((name) => ({
        episode: id('e1'),
        entity: id(name),
      })),
      ...['person', 'theirs'].map((name) => ({ episode: id('e2'), entity: id(name) })),
      ...['company', 'plain', 'marked', 'mailed', 'theirs'].map((name) => ({ episode: id('e3'), entity: id(name) })),
      { episode: id('e4'), entity: id('theirs') },
    ],
    communities: [
      { uuid: id('c-around'), name: sentence, summary: sentence, members: ids('company', 'lonely') },
      { uuid: id('c-above'), name: 'Above', summary: sentence, members: ids('c-around') },
      { uuid: id('c-empty'), name: 'Of the vault', summary: sentence, members: ids('lonely') },
      { uuid: id('c-theirs'), name: 'Theirs', summary: 'Of others', members: ids('theirs') },
    ],
    sagas: [
      {
        uuid: id('s-all'),
        name: 'All of it',
        summary: sentence,
        firstEpisode: id('e1'),
        lastEpisode: id('e5'),
        summarizedTo: at(60),
        episodes: ids('e1', 'e2', 'e3', 'e4', 'e5'),
      },
      {
        uuid: id('s-first'),
        name: 'The first alone',
        summary: sentence,
        firstEpisode: id('e1'),
        lastEpisode: id('e1'),
        summarizedTo: null,
        episodes: ids('e1'),
      },
      {
        uuid: id('s-theirs'),
        name: 'Others',
        summary: 'Of others',
        firstEpisode: id('e4'),
        lastEpisode: id('e5'),
        summarizedTo: at(60),
        episodes: ids('e4', 'e5'),
      },
    ],
    next: [
      { from: id('e1'), to: id('e2') },
      { from: id('e2'), to: id('e3') },
      { from: id('e3'), to: id('e4') },
      { from: id('e4'), to: id('e5') },
    ],
  }
}

/** Equals PostgreSQL's `md5(text)::uuid`. */
const uuidOf = (text: string): string =>
  createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** A pseudo-random generator of integers below a bound. The seed determines the sequence. */
export function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/**
 * A graph of any size in which episodes share entities and facts: one saga with its chain, and a community for every
 * ten entities. Every seventh entity is a person. The seed and the group determine it. `hasUuids`: episode ids are the
 * {@link uuidOf} of their position, like Graphiti's uuids.
 */
export function sharedGraph(
  group: string,
  {
    episodes: count,
    entities: kinds,
    facts: relations,
    perEpisode = 4,
    seed = 1,
    hasUuids = false,
  }: { episodes: number; entities: number; facts: number; perEpisode?: number; seed?: number; hasUuids?: boolean },
): PlantedGraph {
  const next = numbers(seed)
  const episodeIds = Array.from({ length: count }, (_, n) => {
    const place = String(n).padStart(7, '0')
    return hasUuids ? uuidOf(place) : `${group}-e${place}`
  })
  const entityIds = Array.from({ length: kinds }, (_, n) => `${group}-n${String(n).padStart(7, '0')}`)
  const some = (ids: readonly string[]): string => ids[next(ids.length)] ?? ''
  const mentioned = new Map<string, { episode: string; entity: string }>()
  const mention = (one: string, other: string) => mentioned.set(`${one} ${other}`, { episode: one, entity: other })
  for (const one of episodeIds) for (let n = 0; n < perEpisode; n++) mention(one, some(entityIds))
  const facts = Array.from({ length: relations }, (_, n) => {
    const sources = [...new Set(Array.from({ length: 1 + next(3) }, () => some(episodeIds)))]
    const [source, target] = [some(entityIds), some(entityIds)]
    for (const one of sources) {
      mention(one, source)
      mention(one, target)
    }
    return fact(`${group}-f${String(n).padStart(8, '0')}`, source, target, sources)
  })
  const named = new Map<string, string[]>()
  for (const { uuid, episodes } of facts) for (const one of episodes) named.set(one, [...(named.get(one) ?? []), uuid])
  const groups = Array.from({ length: Math.ceil(kinds / 10) }, (_, n) => entityIds.slice(n * 10, n * 10 + 10))
  return {
    group,
    episodes: episodeIds.map((uuid, n) => episode(uuid, n * 24, { entityEdges: named.get(uuid) ?? [] })),
    entities: entityIds.map((uuid, n) => entity(uuid, `Thing Number${n}`, [n % 7 === 3 ? 'Person' : 'Company'])),
    facts,
    mentions: [...mentioned.values()],
    communities: groups.map((members, n) => ({
      uuid: `${group}-c${n}`,
      name: `Community ${n}`,
      summary: `Of ${n}`,
      members,
    })),
    sagas: [
      {
        uuid: `${group}-saga`,
        name: 'Saga',
        summary: 'All that was told',
        firstEpisode: episodeIds[0] ?? null,
        lastEpisode: episodeIds.at(-1) ?? null,
        summarizedTo: at(0),
        episodes: episodeIds,
      },
    ],
    next: episodeIds.slice(1).map((to, n) => ({ from: episodeIds[n] ?? '', to })),
  }
}
