import { shownOnce } from '#lib/client/shown-once.ts'
import { claimAgent, editAgent, registerAgent } from '#lib/domains/agents/contract.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { Happening, PersonOfDemo, World } from './world.ts'

const works = 'Example Works'
const clinic = 'Sample Clinic'

const person = (name: string, role: PersonOfDemo['role'] = 'person', locale: PersonOfDemo['locale'] = 'en') => {
  const [first = name] = name.toLowerCase().split(' ')
  const organisation = name.endsWith('Sample') ? clinic : works
  return {
    email: `${first}@${organisation === clinic ? 'example.com' : 'example.org'}`,
    name,
    role,
    locale,
    organisation,
  }
}

/** The first staff. All people are fictitious. */
export const staff: readonly PersonOfDemo[] = [
  person('Ada Example', 'admin'),
  person('Otto Example', 'admin'),
  person('Iris Example', 'auditor'),
  person('Mara Example', 'manager'),
]
export const members: readonly PersonOfDemo[] = [
  ...[
    'Ben',
    'Cleo',
    'Dana',
    'Emil',
    'Fay',
    'Goro',
    'Hana',
    'Ivo',
    'Juno',
    'Kim',
    'Lea',
    'Nils',
    'Olga',
    'Tess',
    'Uma',
    'Vera',
    'Wim',
    'Xenia',
  ].map((name) => person(`${name} Example`)),
  person('Yu Example', 'person', 'zh'),
  person('Noor Sample', 'manager'),
  ...['Mona', 'Pia', 'Quin', 'Rafa', 'Sol'].map((name) => person(`${name} Sample`)),
]

export interface Contributor {
  id: string
  name: string
  /** The owner. Undefined for an unclaimed agent. */
  owner?: string
  tier: TierName
  since: number
  /** Contributes `size` units every `every` days. */
  every: number
  size: number
}
export const contributors: readonly Contributor[] = [
  { id: 'build-helper', name: 'Build helper', owner: 'ben@example.org', tier: 'pro', since: 57, every: 3, size: 3 },
  { id: 'release-notes', name: 'Release notes', owner: 'ben@example.org', tier: 'free', since: 50, every: 5, size: 2 },
  { id: 'triage-bot', name: 'Triage', owner: 'cleo@example.org', tier: 'free', since: 57, every: 4, size: 2 },
  { id: 'log-reader', name: 'Log reader', owner: 'dana@example.org', tier: 'pro', since: 56, every: 3, size: 3 },
  {
    id: 'invoice-checker',
    name: 'Invoice checker',
    owner: 'emil@example.org',
    tier: 'free',
    since: 55,
    every: 6,
    size: 2,
  },
  { id: 'parcel-desk', name: 'Parcel desk', owner: 'fay@example.org', tier: 'free', since: 55, every: 6, size: 2 },
  {
    id: 'goro-notes',
    name: 'Notes of a workshop',
    owner: 'goro@example.org',
    tier: 'free',
    since: 56,
    every: 3,
    size: 3,
  },
  {
    id: 'schedule-planner',
    name: 'Schedule planner',
    owner: 'hana@example.org',
    tier: 'free',
    since: 54,
    every: 7,
    size: 2,
  },
  { id: 'juno-sorter', name: 'Sorter', owner: 'juno@example.org', tier: 'free', since: 54, every: 4, size: 2 },
  { id: 'nils-drafts', name: 'Drafts', owner: 'nils@example.org', tier: 'free', since: 40, every: 6, size: 2 },
  { id: 'olga-routes', name: 'Routes', owner: 'olga@example.org', tier: 'free', since: 38, every: 6, size: 2 },
  { id: 'tess-tables', name: 'Tables', owner: 'tess@example.org', tier: 'free', since: 36, every: 5, size: 3 },
  { id: 'vera-lists', name: 'Lists', owner: 'vera@example.org', tier: 'free', since: 36, every: 5, size: 2 },
  { id: 'wendang-zhushou', name: '文档助手', owner: 'yu@example.org', tier: 'free', since: 52, every: 5, size: 2 },
  {
    id: 'warehouse-scout',
    name: 'Warehouse scout',
    owner: 'mara@example.org',
    tier: 'enterprise',
    since: 57,
    every: 2,
    size: 3,
  },
  {
    id: 'lab-results',
    name: 'Laboratory results',
    owner: 'noor@example.com',
    tier: 'enterprise',
    since: 53,
    every: 4,
    size: 3,
  },
  { id: 'ward-roster', name: 'Ward roster', owner: 'pia@example.com', tier: 'pro', since: 52, every: 6, size: 2 },
  { id: 'intake-forms', name: 'Intake forms', owner: 'rafa@example.com', tier: 'free', since: 52, every: 3, size: 2 },
  {
    id: 'discharge-letters',
    name: 'Discharge letters',
    owner: 'sol@example.com',
    tier: 'free',
    since: 53,
    every: 5,
    size: 2,
  },
  { id: 'open-scout', name: 'Open scout', tier: 'free', since: 47, every: 9, size: 2 },
  { id: 'night-crawler', name: 'Night crawler', tier: 'free', since: 30, every: 10, size: 1 },
  { id: 'lone-parser', name: 'Lone parser', tier: 'free', since: 33, every: 4, size: 2 },
]

/** An agent registers, uses its token and is claimed. An admin sets its tier. */
async function arrive(world: World, { id, name, owner, tier }: Contributor): Promise<void> {
  const address = `203.0.113.${1 + (world.agents.size % 250)}`
  const { data } = await world.ask({ address }, registerAgent, {
    body: { agent_id: id, name, scopes: ['read', 'write'] },
  })
  const agent = { id, token: shownOnce(data.api_key), address }
  world.agents.set(id, agent)
  await world.ask(agent, readSelf)
  if (owner !== undefined) await world.ask(await world.as(owner), claimAgent, { body: { token: agent.token } })
  if (tier !== 'free')
    await world.ask(await world.as('ada@example.org'), editAgent, {
      params: { id },
      body: { tier, ...(id === 'lab-results' && { limits: { reads_per_minute: 20_000, writes_per_minute: 500 } }) },
    })
}

export const arrivals: readonly Happening[] = [
  {
    daysAgo: 60,
    async run(world) {
      await world.organisation(works)
      for (const one of staff) await world.join(one)
    },
  },
  {
    daysAgo: 58.6,
    async run(world) {
      await world.organisation(clinic)
      for (const one of members) await world.join(one)
    },
  },
  ...contributors.map((one) => ({ daysAgo: one.since + 0.55, run: (world: World) => arrive(world, one) })),
  {
    // This agent never uses its token, so a job deletes it after a day.
    daysAgo: 45,
    run: (world) => world.ask({ address: '203.0.113.250' }, registerAgent, { body: { agent_id: 'never-seen-again' } }),
  },
]
