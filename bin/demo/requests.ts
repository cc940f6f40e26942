import { createApp } from '#lib/app.ts'
import { downloadExport, listExports, prepareExport } from '#lib/domains/exports/contract.ts'
import { cancelRequest, fileRequest, planErasure } from '#lib/domains/privacy-requests/contract.ts'
import {
  assignRequest,
  commentRequest,
  completePart,
  extendRequest,
  fileForSubject,
  pauseRequest,
  readAnyRequest,
  refuseRequest,
  verifyByAdmin,
} from '#lib/domains/privacy-requests/queue/contract.ts'
import { copyTries, type Grace, type RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import type { Happening, World } from './world.ts'

const ada = 'ada@example.org'
const otto = 'otto@example.org'
type Wish = { kinds: RequestKind[]; grace?: Grace; statement?: string; changes?: { name?: string } }

/** Request ids by their names in the story. */
type DemoAccounts = Map<string, string>

const known: (requests: DemoAccounts, name: string) => string = (requests, name) => {
  const id = requests.get(name)
  if (id === undefined) throw new Error(`nobody has asked for "${name}" yet`)
  return id
}

export function requestsInEveryState(): { happenings: Happening[]; last: Happening[] } {
  const requests: DemoAccounts = new Map()
  /** A person files a request in the console, with the password. */
  const asks = (daysAgo: number, name: string, email: string, wish: Wish): Happening => ({
    daysAgo,
    async run(world) {
      const who = await world.as(email)
      if (wish.kinds.includes('erasure')) await world.ask(who, planErasure)
      const made = await world.ask(who, fileRequest, { body: { ...wish, password: world.password } })
      requests.set(name, made.data.id)
    },
  })
  /** A person writes an email, and an admin files it with the day of arrival. */
  const writes = (
    daysAgo: number,
    name: string,
    email: string,
    wish: Omit<Wish, 'changes'>,
    waited = 0.4,
  ): Happening => ({
    daysAgo,
    async run(world) {
      const received_at = new Date(world.now().getTime() - waited * 86_400_000).toISOString()
      const made = await world.ask(await world.confirmed(ada), fileForSubject, {
        body: { ...wish, email, received_at },
      })
      requests.set(name, made.data.id)
    },
  })
  /** A manager files a request for a member. */
  const managerAsks = (daysAgo: number, name: string, manager: string, member: string, wish: Wish): Happening => ({
    daysAgo,
    async run(world) {
      const body = { ...wish, member: world.person(member).accountId }
      requests.set(name, (await world.ask(await world.as(manager), fileRequest, { body })).data.id)
    },
  })
  const confirms = (daysAgo: number, email: string): Happening => ({
    daysAgo,
    run: (world) => world.follow(email, 'verify'),
  })
  const byAdmin = (
    daysAgo: number,
    who: string,
    run: (world: World, visitor: Awaited<ReturnType<World['as']>>) => Promise<unknown>,
  ): Happening => ({
    daysAgo,
    run: async (world) => run(world, await world.as(who)),
  })
  const minds = (daysAgo: number, name: string, who: string): Happening =>
    byAdmin(daysAgo, who, (world, visitor) =>
      world.ask(visitor, assignRequest, {
        params: { id: known(requests, name) },
        body: { account_id: world.person(who).accountId },
      }),
    )
  const notes = (daysAgo: number, name: string, who: string, note: string): Happening =>
    byAdmin(daysAgo, who, (world, visitor) =>
      world.ask(visitor, commentRequest, { params: { id: known(requests, name) }, body: { note } }),
    )
  const pauses = (daysAgo: number, name: string, reason: string): Happening =>
    byAdmin(daysAgo, ada, (world, visitor) =>
      world.ask(visitor, pauseRequest, { params: { id: known(requests, name) }, body: { reason } }),
    )
  const completes = (daysAgo: number, name: string, kind: 'rectification' | 'objection', note: string): Happening =>
    byAdmin(daysAgo, otto, (world, visitor) =>
      world.ask(visitor, completePart, { params: { id: known(requests, name) }, body: { kind, note } }),
    )
  const fetches = (daysAgo: number, email: string): Happening => ({
    daysAgo,
    async run(world) {
      const who = await world.as(email)
      const { data } = await world.ask(who, listExports)
      const ready = data.find(({ state }) => state === 'ready')
      if (ready) await world.ask(who, downloadExport, { params: { id: ready.id } })
    },
  })

  const closed: Happening[] = [
    asks(45.5, 'goro', 'goro@example.org', { kinds: ['erasure'], grace: '24h' }),
    writes(40.3, 'rafa', 'rafa@example.com', { kinds: ['erasure'], grace: '7d' }),
    confirms(40.297, 'rafa@example.com'),
    asks(42.3, 'juno', 'juno@example.org', { kinds: ['erasure'], grace: 'now' }),
    asks(30.4, 'ben access', 'ben@example.org', { kinds: ['access'] }),
    fetches(30.35, 'ben@example.org'),
    asks(25.3, 'cleo portability', 'cleo@example.org', { kinds: ['portability'] }),
    fetches(25.25, 'cleo@example.org'),
    asks(20.2, 'dana name', 'dana@example.org', { kinds: ['rectification'], changes: { name: 'Dana M. Example' } }),
    asks(18.4, 'emil restriction', 'emil@example.org', { kinds: ['restriction'] }),
    asks(35.2, 'fay objection', 'fay@example.org', {
      kinds: ['objection'],
      statement: 'Scores of my agent are shown to people whom I work for.',
    }),
    completes(
      33.6,
      'fay objection',
      'objection',
      'Weighed: the leaderboard shows agents, not people. Told so, and taken off it meanwhile.',
    ),
    asks(28.3, 'hana', 'hana@example.org', { kinds: ['erasure'], grace: '7d' }),
    {
      daysAgo: 26.5,
      run: async (world) =>
        world.ask(await world.as('hana@example.org'), cancelRequest, { params: { id: known(requests, 'hana') } }),
    },
    asks(10.3, 'yu', 'yu@example.org', { kinds: ['erasure'], grace: '24h' }),
    { daysAgo: 9.8, run: (world) => world.follow('yu@example.org', 'cancel') },
    writes(36.3, 'quin', 'quin@example.com', { kinds: ['access'] }),
    writes(22.3, 'ivo', 'ivo@example.org', {
      kinds: ['objection'],
      statement: 'I want nothing of what my agents wrote to be searched.',
    }),
    byAdmin(21.8, ada, (world, visitor) =>
      world.ask(visitor, refuseRequest, {
        params: { id: known(requests, 'ivo') },
        body: {
          ground: 'identity',
          reason:
            'The letter came from an address that we do not know, and two questions about it were left without an answer.',
        },
      }),
    ),
    {
      daysAgo: 15.4,
      async run(world) {
        const agent = world.agent('lone-parser')
        await world.ask(agent, fileRequest, { body: { kinds: ['erasure'], grace: 'now' } })
      },
    },
    asks(12.4, 'sol', 'sol@example.com', { kinds: ['erasure'], grace: 'now' }),
  ]

  const open: Happening[] = [
    writes(
      33.3,
      'kim',
      'kim@example.org',
      {
        kinds: ['rectification'],
        statement: 'Units of a colleague’s agent name me as the expert. Nobody asked me.',
      },
      1.2,
    ),
    {
      daysAgo: 31.3,
      run: async (world) =>
        world.ask(await world.confirmed(ada), verifyByAdmin, {
          params: { id: known(requests, 'kim') },
          body: { note: 'Came to the office in person.' },
        }),
    },
    minds(31.2, 'kim', otto),
    notes(12.7, 'kim', otto, 'I asked the colleague which units name Kim: nine so far.'),
    byAdmin(11.3, otto, (world, visitor) =>
      world.ask(visitor, extendRequest, {
        params: { id: known(requests, 'kim') },
        body: {
          days: 40,
          reason: 'Nine units by three agents have to be read one by one; it takes until the middle of next month.',
        },
      }),
    ),
    managerAsks(24.5, 'mona', 'noor@example.com', 'mona@example.com', { kinds: ['erasure'], grace: '24h' }),
    writes(2.4, 'lea', 'lea@example.org', { kinds: ['access'] }),
    minds(2.3, 'lea', ada),
    asks(4.2, 'nils', 'nils@example.org', { kinds: ['erasure'], grace: '14d' }),
    asks(0.25, 'olga', 'olga@example.org', { kinds: ['erasure'], grace: '24h' }),
    asks(3.4, 'pia', 'pia@example.com', { kinds: ['erasure'], grace: '7d' }),
    pauses(
      2.6,
      'pia',
      'A second letter says that the first was not meant; we ask you by telephone which of the two counts.',
    ),
    asks(0.8, 'cleo name', 'cleo@example.org', {
      kinds: ['rectification'],
      statement: 'My agent is called a bot in a skill; it is a program.',
    }),
    asks(2.5, 'dana objection', 'dana@example.org', {
      kinds: ['objection'],
      statement: 'My agent’s logs are used to compare shifts.',
    }),
    minds(2.2, 'dana objection', ada),
    asks(5.3, 'emil words', 'emil@example.org', {
      kinds: ['rectification'],
      statement: 'The amount in the unit about March has a digit too many.',
    }),
    writes(6.3, 'fay words', 'fay@example.org', {
      kinds: ['rectification'],
      statement: 'The photo that is described is not of our desk.',
    }),
    pauses(
      5.6,
      'fay words',
      'Your letter came from an address that we do not know. Please follow the link that we sent to the one on file.',
    ),
    minds(5.5, 'fay words', otto),
    asks(1.4, 'xenia', 'xenia@example.org', { kinds: ['access', 'erasure'], grace: '7d' }),
    {
      daysAgo: 0.75,
      run: async (world) => fails(world, 'uma@example.org'),
    },
    { daysAgo: 0.05, run: async (world) => world.ask(await world.as('ben@example.org'), prepareExport, { body: {} }) },
  ]

  // Left unfinished for the worker of the next start, to show requests in progress.
  const last: Happening[] = [
    { daysAgo: 0.02, run: async (world) => verifying(world, requests, 'vera@example.org') },
    asks(0.012, 'wim', 'wim@example.org', { kinds: ['access'] }),
    asks(0.01, 'tess', 'tess@example.org', { kinds: ['erasure'], grace: 'now' }),
  ]
  return { happenings: [...closed, ...open], last }
}

/** Everything is erased, but not yet verified. */
async function verifying(world: World, requests: DemoAccounts, email: string): Promise<void> {
  const who = await world.as(email)
  const body = { kinds: ['erasure' as const], grace: 'now' as const, password: world.password }
  requests.set('vera', (await world.ask(who, fileRequest, { body })).data.id)
  await world.work({ except: ['erasure.verify'] })
}

const minute = 60_000
/** More rounds than an export has attempts. */
const maxRounds = 12
/**
 * An export that cannot be made: a worker with an invalid data folder cannot write the file. Its request fails after
 * the last attempt, and an admin can retry it.
 */
async function fails(world: World, email: string): Promise<void> {
  const { app } = world
  const prepare = 'exports.prepare'
  const env = { ...app.env, KP_DATA_DIR: '/dev/null', KP_SECRET: world.secret }
  const broken = createApp({ env, clock: app.pipeline.clock })
  try {
    const who = await world.as(email)
    const { data } = await world.ask(who, fileRequest, { body: { kinds: ['access'], password: world.password } })
    for (let round = 0, left = copyTries.max; left > 0; round++) {
      if (round === maxRounds) throw new Error('a copy is tried for ever')
      await world.work({
        by: { jobs: broken.jobs.filter(({ name }) => name === prepare), pipeline: broken.pipeline },
        mayFail: true,
      })
      await world.later(3 * minute, { except: [prepare] })
      const [part] = (await world.ask(await world.as(ada), readAnyRequest, { params: { id: data.id } })).data.parts
      left = copyTries.max - Number(part?.outcome.tries ?? 0)
      if (left > 0) await world.later(copyTries.after, { except: [prepare] })
    }
  } finally {
    await broken.close()
  }
}
