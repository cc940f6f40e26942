import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { redacted } from '#lib/stores/graph/graph.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { entity, episode, fact } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { signedIn } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { dataOf, madeConversation, madeMember, madeMessage, madeProject } from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const bare = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
const name = 'Anne-Marie Beispiel'
const day = 86_400_000

/** A person whom others name in the graph of their project, and in a group of which they are not a member. */
async function written({ called = name, heldFor = 46 * day, allows = true } = {}) {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const member = await madeMember(test, project)
  const data = { name: called, updatedAt: test.clock.now() }
  await test.db.prisma.account.update({ where: { id: member.accountId }, data })
  await dataOf(test, 'PATCH', project.path, project.owner, { body: { allows_redaction: allows } })
  test.clock.advance(heldFor)
  const { groupId } = await test.db.prisma.project.findUniqueOrThrow({ where: { id: project.id } })
  const other = newId('grp').toLowerCase()
  const said = `The contract with ${called} was signed.`
  const [one, elsewhere, company] = [newId('ep'), newId('ep'), newId('ent')]
  const planting = postgresPlanting(test.db)
  await planting.plant({
    ...bare,
    group: groupId,
    episodes: [episode(one, 1, { content: said })],
    entities: [entity(company, 'Muster GmbH', ['Company'], { summary: `Knows ${called}.` })],
    facts: [fact(newId('f'), company, company, [one], { fact: `${called} speaks for it.` })],
    mentions: [{ episode: one, entity: company }],
  })
  await planting.plant({ ...bare, group: other, episodes: [episode(elsewhere, 1, { content: said })] })
  const message = await madeMessage(test, conversation, project.owner, { content: said })
  return { project, member, planting, groupId, other, said, message, company }
}
async function erased(accountId: string, redacts: boolean) {
  const { runId } = await test.app.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: accountId, agents: [] },
      redacts,
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: test.clock.now(),
    }),
  )
  await drain(test)
  return test.app.subjectErasures.run(runId)
}
/** `names_replaced` of the receipt of a run. */
async function namesReplaced(run: Awaited<ReturnType<typeof erased>>) {
  return (await test.fetch('GET', `/v1/receipts/${run?.receiptId}`)).json.names_replaced
}
const places = (run: Awaited<ReturnType<typeof erased>>) =>
  (run?.mentions ?? []).map(({ store, kind, field, isRedacted }) => `${store} ${kind} ${field} ${isRedacted}`).sort()

it('erasure lists where a person’s name occurs in texts of others, and keeps these texts', async () => {
  const { member, planting, groupId, said } = await written()
  const before = await planting.standing(groupId)
  const run = await erased(member.accountId, false)
  expect(run).toMatchObject({ state: 'done' })
  expect(places(run)).toEqual([
    'graph entity summary false',
    'graph episode content false',
    'graph fact fact false',
    'postgresql message content false',
  ])
  expect(await planting.standing(groupId)).toEqual(before)
  expect(await namesReplaced(run)).toBeNull()
  expect(JSON.stringify(run)).not.toContain('Beispiel')
  expect(said).toContain('Beispiel')
})

it('erasure with redact removes the name from the graph and from no other store', async () => {
  const { member, planting, groupId, other, said, message } = await written()
  const elsewhere = await planting.standing(other)
  const run = await erased(member.accountId, true)
  expect(run).toMatchObject({ state: 'done' })
  expect(places(run)).toEqual([
    'graph entity summary true',
    'graph episode content true',
    'graph fact fact true',
    'postgresql message content false',
  ])
  const after = await planting.standing(groupId)
  expect(after.episodes[0]?.content).toBe(said.replace(name, redacted))
  expect(JSON.stringify(after)).not.toContain('Beispiel')
  expect(await planting.standing(other)).toEqual(elsewhere)
  expect(await namesReplaced(run)).toBe(3)
  expect(await test.db.prisma.message.findUniqueOrThrow({ where: { id: message.id } })).toMatchObject({ content: said })
})

describe('the preview of an erasure with redact', () => {
  /** What the preview announces, and what the erasure does. */
  async function announcedAndDone(
    { member, groupId, planting }: Awaited<ReturnType<typeof written>>,
    redacts: boolean,
  ) {
    const before = await planting.standing(groupId)
    const plan = await dataOf(test, 'GET', `/api/privacy/plan?redact=${redacts}`, member)
    expect(await planting.standing(groupId)).toEqual(before)
    const { mentions = [] } = (await erased(member.accountId, redacts)) ?? {}
    const removed = mentions.filter(({ isRedacted }) => isRedacted).length
    const isUnchanged = JSON.stringify(await planting.standing(groupId)) === JSON.stringify(before)
    return { announced: plan.names, done: { removed, kept: mentions.length - removed }, isUnchanged }
  }
  const nothing = { removed: 0, kept: 4 }

  it('returns how many places lose the name and how many keep it, and changes nothing', async () => {
    const counts = { removed: 3, kept: 1 }
    expect(await announcedAndDone(await written(), true)).toEqual({
      announced: counts,
      done: counts,
      isUnchanged: false,
    })
    expect(await announcedAndDone(await written(), false)).toEqual({
      announced: nothing,
      done: nothing,
      isUnchanged: true,
    })
  })

  it.each([
    ['the name of a company', { called: 'Contoso GmbH' }],
    ['a project whose owner does not allow it', { allows: false }],
  ])('announces no removal for %s, and the erasure removes nothing', async (_, how) => {
    const unchanged = { announced: nothing, done: nothing, isUnchanged: true }
    expect(await announcedAndDone(await written(how), true)).toEqual(unchanged)
  })

  it('says nothing about a name that the person has borne for less than 45 days', async () => {
    const unsaid = { announced: undefined, done: nothing, isUnchanged: true }
    expect(await announcedAndDone(await written({ heldFor: 44 * day }), true)).toEqual(unsaid)
  })

  it('says nothing about a name that the person took just now: a preview is no search of texts of others', async () => {
    const made = await written({ called: 'Somebody Else' })
    const contoso = 'Contoso GmbH'
    await made.planting.plant({
      ...bare,
      group: made.groupId,
      episodes: [episode(newId('ep'), 2, { content: `We wrote to ${contoso}.` })],
    })
    await test.db.prisma.account.update({
      where: { id: made.member.accountId },
      data: { name: contoso, updatedAt: test.clock.now() },
    })
    const { announced, done, isUnchanged } = await announcedAndDone(made, true)
    expect([announced, done.removed, isUnchanged]).toEqual([undefined, 0, true])
    expect(done.kept).toBeGreaterThan(0)
  })
})

it('erasure keeps a single word that somebody uses as their name', async () => {
  const { member, planting, groupId } = await written({ called: 'Contract' })
  const before = await planting.standing(groupId)
  const run = await erased(member.accountId, true)
  expect(places(run)).toContain('graph episode content false')
  expect(await planting.standing(groupId)).toEqual(before)
})

describe('erasure lists messages of others', () => {
  async function listed(called: string, texts: readonly string[]) {
    const { project, member } = await written({ called })
    const conversation = await madeConversation(test, project)
    const ids = new Map<string, string>()
    for (const content of texts)
      ids.set((await madeMessage(test, conversation, project.owner, { content })).id, content)
    const run = await erased(member.accountId, false)
    return (run?.mentions ?? []).flatMap(({ id, field }) => {
      const content = ids.get(id)
      return content === undefined ? [] : [[content, field]]
    })
  }
  const name = 'Jürgen Weiß'
  it.each([
    'Weiß, Jürgen signed it.',
    'JUERGEN WEISS signed it.',
    'Jürgen Weiß’ flat is empty.',
    'J&uuml;rgen<br>Wei&szlig; signed it.',
    `https://example.com/?who=${encodeURIComponent(name)}`,
    `{"body":"${Buffer.from(`${name} signed the contract.`).toString('base64')}"}`,
    'first_name: Jürgen, last_name: Weiß',
  ])('erasure lists a message of somebody else that writes the name as %s', async (text) => {
    expect(await listed(name, [text, 'Somebody else signed it.'])).toEqual([[text, 'content']])
  })
  it('erasure lists a word with a capital that may be the name of somebody else as uncertain', async () => {
    const found = await listed('May', ['You may ask again.', 'May asked again.', 'Dismay is no name.'])
    expect(found).toEqual([['May asked again.', 'content.uncertain']])
    expect(await listed(name, ['We told J. Weiß.', 'It is weiß.'])).toEqual([['We told J. Weiß.', 'content.uncertain']])
  })
})

describe('erasure with redact keeps texts of others', () => {
  const retained = async (
    options: Parameters<typeof written>[0],
    before = async (_: Awaited<ReturnType<typeof written>>) => {},
  ) => {
    const made = await written(options)
    await before(made)
    const texts = await made.planting.standing(made.groupId)
    const run = await erased(made.member.accountId, true)
    expect(places(run)).toContain('graph episode content false')
    expect(await made.planting.standing(made.groupId)).toEqual(texts)
  }
  it('when the person changed their name within 45 days', () => retained({ heldFor: 44 * day }))
  it('when no owner of the project allowed it', () => retained({ allows: false }))
  it('when the name is that of a company', () => retained({ called: 'Contoso GmbH' }))
  it('when another person has the name', () =>
    retained({}, async () => {
      const { accountId } = await signedIn(test)
      await test.db.prisma.account.update({ where: { id: accountId }, data: { name: name.toUpperCase() } })
    }).finally(() =>
      test.db.prisma.account.updateMany({ where: { name: name.toUpperCase() }, data: { name: 'Other' } }),
    ))
  it('when a participant has the name', () =>
    retained({ called: 'Ida Muster' }, async ({ project }) => {
      const body = { external_id: 'u', name: 'Ida Muster' }
      await dataOf(test, 'POST', `${project.path}/participants`, project.agent, { body })
    }))
  it('when an entity that is no person has the name', () =>
    retained({ called: 'Berta Beispiel' }, async ({ planting, groupId }) => {
      const entities = [entity(newId('ent'), 'Berta Beispiel', ['Company'], {})]
      await planting.plant({ ...bare, group: groupId, episodes: [], entities })
    }))
})

it('erasure keeps a project under legal hold unchanged', async () => {
  const { member, planting, groupId, project } = await written()
  const admin = await signedIn(test, 'admin')
  await dataOf(test, 'POST', '/v1/holds', admin, {
    body: { kind: 'project', target_id: project.id, reason: 'A dispute' },
  })
  const before = await planting.standing(groupId)
  const run = await erased(member.accountId, true)
  expect(run?.mentions.filter(({ store }) => store === 'graph')).toEqual([])
  expect(await planting.standing(groupId)).toEqual(before)
})
