import { read } from '#lib/kernel/use-case.ts'
import { type SearchHit, searchConsole } from './contract.ts'
import type { ConsolePorts } from './ports.ts'
import { hitsPerKind } from './rules.ts'

type SearchPorts = ConsolePorts['search']
type FoundHit = Pick<SearchHit, 'kind' | 'id' | 'title'> & Partial<SearchHit>

const hit = (found: FoundHit): SearchHit => ({ detail: null, request_kinds: [], is_own: false, ...found })

/** Searches all domains for the command palette. Each domain finds only what the reader may open. */
export const consoleSearch = ({ search }: { search: SearchPorts }) =>
  read(searchConsole, async (ctx, { query: { q } }) => {
    const { actor } = ctx
    const people = search.people(actor, q, hitsPerKind)
    const [persons, agents, requests, receipts, erasure, records, projects] = await Promise.all([
      people,
      search.agents(actor, q, hitsPerKind),
      people.then((found) => search.requests(actor, { q, accounts: found.map(({ id }) => id) }, hitsPerKind)),
      search.receipts(actor, q),
      search.erasure(actor, q),
      search.records(ctx, q, hitsPerKind),
      search.projects(ctx, q, hitsPerKind),
    ])
    const isMe = (id: string | null) => id !== null && id === actor.accountId
    const data = [
      ...persons.map(({ id, name, email }) =>
        hit({ kind: 'person', id, title: name, detail: email, is_own: isMe(id) }),
      ),
      ...agents.map(({ id, name, ownerId }) =>
        hit({ kind: 'agent', id, title: name ?? id, detail: name === null ? null : id, is_own: isMe(ownerId) }),
      ),
      ...requests.map(({ id, kinds, person }) =>
        hit({
          kind: 'request',
          id,
          title: person ?? id,
          detail: person === null ? null : id,
          request_kinds: [...kinds],
          is_own: !actor.can('privacy:admin'),
        }),
      ),
      ...receipts.map(({ id, deletedId }) => hit({ kind: 'receipt', id, title: id, detail: deletedId })),
      ...(erasure === undefined ? [] : [hit({ kind: 'erasure', id: erasure, title: erasure })]),
      ...records.map(({ kind, id, title, isOwn }) => hit({ kind, id, title, is_own: isOwn })),
      ...projects.map(({ id, name }) => hit({ kind: 'project', id, title: name })),
    ]
    return { resourceId: 'query', details: { count: data.length }, body: { data } }
  })
