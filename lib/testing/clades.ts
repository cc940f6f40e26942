import { joinClade } from '#lib/domains/clades/writes.ts'
import type { TestApp, TestRequest, TestResponse } from './app.ts'
import { type Issued, issuedAgent, type Person } from './people.ts'

/** A share with values that stripping removes. */
export const sharedInsight = {
  kind: 'insight',
  content: {
    claim: 'calm before the fixing',
    entry_price: 64_123.5,
    paid_to: `0x${'ab'.repeat(20)}`,
    'ada@example.org': { note: 'kept' },
  },
  confidence: 0.7,
  tags: ['calm'],
}

export interface CladeTesting {
  /** Creates agents of the person in one clade, all sharing. The first is the ancestor. */
  clade(count: number): Promise<Issued[]>
  pair(): Promise<[Issued, Issued]>
  share(agent: Issued, body?: object, by?: TestRequest): Promise<TestResponse>
  recall(agent: Issued, shareId: string): Promise<TestResponse>
  deltas(agent: Issued, after?: number): Promise<TestResponse['json']>
  ack(agent: Issued, through: number): Promise<TestResponse>
}

/** Siblings of one person and their shares. */
export function cladeTesting(testing: TestApp, person: Person): CladeTesting {
  const { app, fetch, clock } = testing
  const at = (id: string, path: string) => `/v1/agents/${id}/clade${path}`
  async function clade(count: number): Promise<Issued[]> {
    const agents = await Promise.all(
      Array.from({ length: count }, () =>
        issuedAgent(testing, ['read', 'write'], { tier: 'enterprise', owner: person }),
      ),
    )
    const [ancestor, ...rest] = agents
    if (!ancestor) throw new Error('no ancestor')
    for (const { id: agentId } of rest)
      await app.pipeline.transaction((tx) =>
        joinClade(tx, { agentId, ancestorId: ancestor.id, ownerId: person.accountId, now: clock.now() }),
      )
    for (const { id, token } of agents) {
      const { status } = await fetch('PUT', at(id, '/sharing'), { token, body: { on: true } })
      if (status !== 200) throw new Error(`sharing is not switched on: ${status}`)
    }
    return agents
  }
  return {
    clade,
    async pair() {
      const [one, other] = await clade(2)
      if (!one || !other) throw new Error('no pair')
      return [one, other]
    },
    share: ({ id, token }, body = { entry: sharedInsight }, by = { token }) =>
      fetch('POST', at(id, '/shares'), { ...by, body }),
    recall: ({ id, token }, shareId) => fetch('DELETE', at(id, `/shares/${shareId}`), { token }),
    deltas: async ({ id, token }, after = 0) => (await fetch('GET', at(id, `/deltas?after=${after}`), { token })).json,
    ack: ({ id, token }, through) => fetch('POST', at(id, '/deltas/ack'), { token, body: { through } }),
  }
}
