import { validateUnit } from '#lib/domains/knowledge/moderation/contract.ts'
import {
  createToken,
  listTokens,
  readSelf,
  revokeByPrefix,
  revokeToken,
  rotateToken,
} from '#lib/domains/tokens/contract.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import { Refused } from './visits.ts'
import type { Happening, World } from './world.ts'

type Wanted = { name: string; scopes?: ('read' | 'write')[]; expires_in_days?: number }
const create = async (world: World, owner: string, agent_id: string, wanted: Wanted) =>
  (await world.ask(await world.as(owner), createToken, { body: { agent_id, ...wanted } })).data

const created = (daysAgo: number, owner: string, agent: string, wanted: Wanted): Happening => ({
  daysAgo,
  run: (world) => create(world, owner, agent, wanted),
})

/** The agent ignores rate limits: the third window within an hour in which requests are rejected revokes its token. */
async function runaway(world: World, id: string): Promise<void> {
  const agent = world.agent(id)
  const most = tierLimits.free.writes + 3
  let isRefused = false
  for (let asked = 0; !isRefused; asked++) {
    if (asked > 2 * most) throw new Error('nothing bounds what an agent asks')
    await world
      .ask(agent, validateUnit, { params: { id: 'kp:trace:none' }, body: { valid: true } })
      .catch((error: unknown) => {
        if (!(error instanceof Refused)) throw error
        isRefused = error.status === 429
      })
  }
  // Limits use the real time, and the story does not wait for two more minutes of it.
  const { data } = await world.ask(agent, readSelf)
  const tokenId = data.token?.id ?? ''
  const refusal = { tokenId, requestClass: 'write' as const, limit: tierLimits.free.writes, consumed: most, ip: '' }
  for (const minutes of [1, 2])
    await world.app.tokens.keepRefusal({ ...refusal, windowEnds: new Date(world.now().getTime() + minutes * 60_000) })
}

/** Tokens in every state: active, about to expire, expired, rotated with an overlap, revoked by hand and by the rate limiter. */
export const tokensInEveryState: readonly Happening[] = [
  created(50, 'ben@example.org', 'build-helper', { name: 'CI, main branch', scopes: ['read', 'write'] }),
  created(48, 'mara@example.org', 'warehouse-scout', { name: 'night shift', scopes: ['read'] }),
  created(41, 'dana@example.org', 'log-reader', { name: 'trial of a month', expires_in_days: 30 }),
  created(24, 'cleo@example.org', 'triage-bot', { name: 'dashboard', expires_in_days: 30 }),
  created(6, 'noor@example.com', 'lab-results', { name: 'reader of the ward', expires_in_days: 365 }),
  {
    daysAgo: 26,
    async run(world) {
      const { id } = await create(world, 'emil@example.org', 'invoice-checker', { name: 'laptop' })
      await world.ask(await world.as('emil@example.org'), revokeToken, { params: { id } })
    },
  },
  {
    daysAgo: 12.2,
    async run(world) {
      const { key_prefix } = await create(world, 'ben@example.org', 'release-notes', { name: 'found in a log' })
      await world.ask(await world.as('ben@example.org'), revokeByPrefix, { body: { key_prefix } })
    },
  },
  {
    daysAgo: 5.8,
    async run(world) {
      const { id } = await create(world, 'pia@example.com', 'ward-roster', {
        name: 'roster server',
        scopes: ['read', 'write'],
      })
      await world.ask(await world.as('pia@example.com'), rotateToken, { params: { id }, body: { overlap: '1h' } })
    },
  },
  {
    daysAgo: 2.4,
    run: (world) => runaway(world, 'night-crawler'),
  },
  {
    daysAgo: 0.12,
    async run(world) {
      const ben = await world.as('ben@example.org')
      const { data } = await world.ask(ben, listTokens, { query: { agent_id: 'build-helper' } })
      const ci = data.find(({ name }) => name === 'CI, main branch')
      if (ci) await world.ask(ben, rotateToken, { params: { id: ci.id }, body: { overlap: '24h' } })
    },
  },
]
