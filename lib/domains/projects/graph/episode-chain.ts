import type { Neighbourhood, SagaNeighbour } from '#lib/stores/graph/graph.ts'

type Links = Neighbourhood['next']

/** The nearest remaining episodes, followed along the links from an erased episode. */
function survivors(from: string, links: Links, erased: ReadonlySet<string>, isBackwards: boolean): string[] {
  const [here, there] = isBackwards ? (['to', 'from'] as const) : (['from', 'to'] as const)
  const [seen, found, waiting] = [new Set([from]), new Set<string>(), [from]]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const link of links) {
      const other = link[there]
      if (link[here] !== at || seen.has(other)) continue
      seen.add(other)
      if (erased.has(other)) waiting.push(other)
      else found.add(other)
    }
  return [...found].sort()
}

/** Links that close the gaps: from each remaining episode before an erased one to the next remaining episode of the same saga. */
export function linksAround({ next, sagas }: Neighbourhood, erased: ReadonlySet<string>): Links {
  const sagasOf = (episode: string) =>
    sagas.filter(({ episodes }) => episodes.includes(episode)).map(({ uuid }) => uuid)
  const belong = (one: string, other: string) => {
    const [ones, others] = [sagasOf(one), sagasOf(other)]
    return (ones.length === 0 && others.length === 0) || ones.some((saga) => others.includes(saga))
  }
  const made = new Map<string, { from: string; to: string }>()
  for (const { from, to } of next) {
    if (erased.has(from) || !erased.has(to)) continue
    for (const after of survivors(to, next, erased, false))
      if (after !== from && belong(from, after)) made.set(`${from} ${after}`, { from, to: after })
  }
  return [...made.values()]
}

/** The first and last episode of a saga after erasure: the nearest remaining episodes, or null if none is known. */
export function pointersOf(
  { firstEpisode, lastEpisode, episodes }: SagaNeighbour,
  next: Links,
  erased: ReadonlySet<string>,
): { firstEpisode: string | null; lastEpisode: string | null } {
  const nearest = (pointer: string | null, isBackwards: boolean): string | null => {
    if (pointer === null || !erased.has(pointer)) return pointer
    return survivors(pointer, next, erased, isBackwards).find((episode) => episodes.includes(episode)) ?? null
  }
  return { firstEpisode: nearest(firstEpisode, false), lastEpisode: nearest(lastEpisode, true) }
}
