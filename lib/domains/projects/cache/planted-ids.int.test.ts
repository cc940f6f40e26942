// Anybody can have an id of theirs written into data of others: a ticket, a chat, the name of a file. Such an id erases nothing there.
import { createClient } from '@redis/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DataSource, erasedOf } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'

describe.skipIf(!(await isRedisInstalled()))('an erased id in cache entries of others', () => {
  let redis: TestRedis
  let test: TestApp
  let client: ReturnType<typeof connected>
  let project: MadeProject
  let theirs: MadeProject
  let message: MadeMessage
  let other: MadeMessage
  let scope: ErasureScope
  const nobody: ErasureScope = { subject: { account: null, agents: [] } }
  const connected = () => createClient({ url: redis.url })
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server is not installed')
    redis = started
    test = await testApp({ KP_REDIS_URL: redis.url, KP_POINTER_PREFIXES: 'app:answers:' })
    client = connected()
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await test?.close()
    await redis?.stop()
  })
  beforeEach(async () => {
    await client.flushDb()
    project = await madeProject(test)
    theirs = await madeProject(test)
    for (const { owner } of [project, theirs]) await claimsOnly(owner.organisationId, [])
    const conversation = await madeConversation(test, project)
    message = await madeMessage(test, conversation, project.owner, { content: 'Please remember this number.' })
    other = await madeMessage(test, conversation, project.agent, { content: 'Nothing else was said here.' })
    scope = { part: { kind: 'message', id: message.id, project: project.id, conversation: conversation.id } }
  })
  const claimsOnly = (id: string, storeNamespaces: string[]) =>
    test.db.prisma.organisation.update({ where: { id }, data: { storeNamespaces } })
  function source(): DataSource {
    const found = test.app.dataSources.find(({ name }) => name === 'cache.entries')
    if (!found) throw new Error('the data source is missing')
    return found
  }
  async function erase() {
    const { items, watched = [] } = await test.db.transaction((tx) => source().plan(scope, tx, test.clock.now()))
    const all = [...items, ...watched]
    const done = await test.db.transaction(async (tx) =>
      erasedOf(
        await source().erase(scope, all, tx, {
          key: `${newId('run')}:cache.entries:1:p`,
          redacts: false,
          now: test.clock.now(),
        }),
      ),
    )
    const residue = (of = scope) => source().residue(of, all, test.clock.now())
    return { all, residue, owned: new Set(done.tallies?.cacheOwned?.met).size }
  }
  const values = async () => {
    const found: Record<string, string | Record<string, string>> = {}
    for (const key of await client.keys('*')) {
      if (key.startsWith('kp:')) continue
      found[key] = (await client.type(key)) === 'hash' ? await client.hGetAll(key) : String(await client.get(key))
    }
    return found
  }
  /** Values of another organization, of its project, and of nobody. */
  async function plant() {
    const tickets = JSON.stringify([
      { id: 1, text: `Please see ${message.id}.` },
      { id: 2, text: 'The rent is late.' },
    ])
    await client.set('tenant-b:tickets:open', tickets)
    await client.hSet(`${theirs.owner.organisationId}:session:77`, 'history', `Remember ${message.id}, says Ida.`)
    await client.set(`${theirs.id}:answers`, `As ${message.id} asked, the rent is late.`)
    await client.set(`app:answers:${theirs.owner.organisationId}:${message.id}`, 'The rent is late.')
    await client.set(`session:${theirs.id}:${project.id}`, `Both projects know ${message.id}.`)
    await client.set('tenant-b:chat', `In ${project.id}, ${message.id} was said.`)
  }

  it('erases nothing there, counts the entries, and leaves no residue', async () => {
    await plant()
    const before = await values()
    const { residue, owned } = await erase()
    expect(await values()).toEqual(before)
    expect(owned).toBe(Object.keys(before).length)
    expect([await residue(), await residue(nobody)]).toEqual([0, 0])
    expect(source().notSearched?.({ cacheOwned: owned })).toEqual([
      { what: expect.stringContaining('belong to others'), count: owned },
    ])
  })

  it('still deletes the entries of the project, and those that the organization may claim', async () => {
    const own = {
      [`answer:${message.id}`]: 'an answer',
      [`history:${project.id}`]: `with ${message.id}`,
      [`${project.owner.organisationId}:session`]: `with ${message.id}`,
      'acme-session': `with ${message.id}`,
      // It names another author of the same project.
      [`answer:${other.id}`]: `made from ${message.id}`,
    }
    await claimsOnly(project.owner.organisationId, ['acme-'])
    for (const [key, value] of Object.entries(own)) await client.set(key, value)
    const { residue, owned, all } = await erase()
    expect([await values(), owned, await residue()]).toEqual([{}, 0, 0])
    // A value that is written again afterwards is found, and erased by a repetition.
    for (const [key, value] of Object.entries(own)) await client.set(key, value)
    expect(await residue()).toBe(Object.keys(own).length)
    await test.db.transaction((tx) =>
      source().erase(scope, all, tx, {
        key: `${newId('run')}:cache.entries:2:p`,
        redacts: false,
        now: test.clock.now(),
      }),
    )
    expect([await values(), await residue()]).toEqual([{}, 0])
  })

  it('erases in an entry of nobody if the organization may claim everything, but not if another project reports it', async () => {
    await claimsOnly(project.owner.organisationId, ['*'])
    const conversation = await madeConversation(test, theirs)
    const source = await madeMessage(test, conversation, theirs.owner, { content: 'Our own question about the rent.' })
    const shared = `app:answers:${theirs.owner.organisationId}:7`
    await client.set(shared, `with ${message.id}`)
    await client.set('session:7', `with ${message.id}`)
    await reported(test, theirs, theirs.owner, [{ source_id: source.id, store: 'cache', ref: shared }])
    const { residue, owned } = await erase()
    expect(await values()).toEqual({ [shared]: `with ${message.id}` })
    expect([owned, await residue()]).toEqual([1, 0])
  })

  /** A message of a participant with this external id, which any member can choose. */
  const saidBy = async (within: MadeProject, externalId: string) =>
    madeMessage(test, await madeConversation(test, within), within.agent, {
      content: 'The heating has been cold since Monday.',
      author: { external_id: externalId, name: 'Jan Wolters' },
    })

  it('erases in keys of the project and of its people, whichever external ids other projects choose', async () => {
    const sibling = await madeProject(test, { owner: project.owner })
    await claimsOnly(project.owner.organisationId, ['*'])
    for (const one of [project, sibling]) await saidBy(one, '42')
    for (const externalId of ['answers', 'history', 'session-2024']) await saidBy(theirs, externalId)
    const own = {
      'history:42': `as ${message.id} said`,
      'app:answers:1': `as ${message.id} said`,
      [`app:answers:${message.id}`]: 'The rent is late.',
      [`history:42:${message.id}`]: 'The rent is late.',
      [`session-2024:${message.id}`]: 'The rent is late.',
      [`${project.id}:answers:9`]: `as ${message.id} said`,
    }
    const store = async () => {
      for (const [key, value] of Object.entries(own)) await client.set(key, value)
    }
    await store()
    // A person of another organization whose external id cannot be a word.
    const foreign = { 'notes:session-2024': `as ${message.id} said` }
    await client.set('notes:session-2024', foreign['notes:session-2024'])
    const { all, owned, residue } = await erase()
    expect([await values(), owned, await residue()]).toEqual([foreign, 1, 0])
    // Verification finds what is written again, also after the rows are deleted.
    await eraseWholeProject(test, message.path, project.owner)
    await store()
    expect(await source().residue(nobody, all, test.clock.now())).toBe(Object.keys(own).length)
  })

  it('finds a key with the external id of the erased person again, after the row of the person is deleted', async () => {
    await claimsOnly(project.owner.organisationId, [])
    const said = await saidBy(project, '42')
    const where = { projectId: project.id, externalId: '42' }
    const { id: participant } = await test.db.prisma.projectParticipant.findFirstOrThrow({ where })
    scope = { subject: { account: null, agents: [], participants: [participant] } }
    const entries = { 'history:42': `as ${said.id} said`, 'history:43': `as ${said.id} said` }
    const store = async () => {
      for (const [key, value] of Object.entries(entries)) await client.set(key, value)
    }
    await store()
    const { all, residue } = await erase()
    expect([Object.keys(await values()), await residue()]).toEqual([['history:43'], 0])
    expect(JSON.stringify(all)).not.toContain('"alias:42"')
    await test.db.prisma.message.delete({ where: { id: said.id } })
    await test.db.prisma.projectParticipant.delete({ where: { id: participant } })
    await store()
    expect(await residue(nobody)).toBe(1)
    await test.db.transaction((tx) =>
      source().erase(nobody, all, tx, {
        key: `${newId('run')}:cache.entries:1:p`,
        redacts: false,
        round: 1,
        now: test.clock.now(),
      }),
    )
    expect([Object.keys(await values()), await residue(nobody)]).toEqual([['history:43'], 0])
  })

  it('repeats an erasure for the organizations of all its pages, after the rows are deleted', async () => {
    await claimsOnly(project.owner.organisationId, ['acme-'])
    scope = { part: { kind: 'project', id: project.id, project: project.id, conversation: null } }
    const { all } = await erase()
    await dataOf(test, 'POST', `${project.path}/close`, project.owner, { body: {} })
    test.clock.advance(31 * 24 * 3_600_000)
    await test.app.jobs.find(({ name }) => name === 'projects.close')?.execute(test.app.pipeline, {})
    await drain(test)
    const planted = { 'tenant-b:tickets': `Please see ${message.id}.` }
    await client.set('tenant-b:tickets', planted['tenant-b:tickets'])
    await client.set('acme-session', `As ${message.id} said, the rent is late.`)
    const residue = async () => source().residue(nobody, all, test.clock.now())
    expect(await residue()).toBe(1)
    // The organization is recorded on another page.
    const page = all.filter((item) => item.startsWith('about:'))
    const repeat = async (given: readonly string[]) =>
      test.db.transaction((tx) =>
        source().erase(nobody, page, tx, {
          key: `${newId('run')}:cache.entries:1:p`,
          redacts: false,
          round: 1,
          all: async () => given,
          now: test.clock.now(),
        }),
      )
    await repeat([])
    expect(Object.keys(await values()).sort()).toEqual(['acme-session', 'tenant-b:tickets'])
    await repeat(all)
    expect([await values(), await residue()]).toEqual([planted, 0])
  })

  it.each([
    ['the message', () => scope],
    ['its author', (): ErasureScope => ({ subject: { account: project.owner.accountId, agents: [] } })],
  ])('erases %s also in keys that name another account, if the organization may claim them', async (_, scopeOf) => {
    const { accountId } = await madeMember(test, project)
    const entries = {
      [`session:${accountId}`]: `as ${message.id} said`,
      [`${project.id}:session:${accountId}`]: `as ${message.id} said`,
      [`session:${project.owner.accountId}`]: `as ${message.id} said`,
    }
    for (const [key, value] of Object.entries(entries)) await client.set(key, value)
    scope = scopeOf()
    await erase()
    const isPerson = 'subject' in scope
    expect(Object.keys(await values()).sort()).toEqual(
      [`session:${accountId}`, ...(isPerson ? [] : [`session:${project.owner.accountId}`])].sort(),
    )
    await claimsOnly(project.owner.organisationId, ['*'])
    const { residue } = await erase()
    expect([await values(), await residue()]).toEqual([{}, 0])
  })

  it('an erasure ends and its receipt counts the entries, although an application writes them again', async () => {
    await plant()
    const plan = await dataOf(test, 'DELETE', `${message.path}?dry_run=true`, project.owner)
    expect(JSON.stringify(plan)).not.toContain('tenant-b')
    const receipt = await eraseWholeProject(test, message.path, project.owner)
    const { json } = await test.fetch('GET', `/v1/receipts/${receipt}`)
    expect(json.not_searched).toContainEqual({
      store: 'cache',
      what: expect.stringContaining('belong to others'),
      count: 6,
    })
  })
})
