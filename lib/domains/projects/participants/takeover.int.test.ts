import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let project: MadeProject
let manager: MadePerson
let n = 0
beforeAll(async () => {
  kit = await privacyTest()
  project = await madeProject(kit.test)
  manager = await personWithPassword(kit.test, 'A manager', project.owner.organisationId)
  await kit.test.db.prisma.account.update({ where: { id: manager.accountId }, data: { role: 'manager' } })
  // Everybody could claim a participation with their own address.
  await kit.test.db.prisma.account.updateMany({ data: { emailVerifiedAt: kit.test.clock.now() } })
})
afterAll(async () => {
  await kit?.test.close()
  await kit?.post.close()
})

type Who = { cookie: string } | { token: string }
/** A stranger on whose behalf the application writes. */
async function stranger(email: string | null = `stranger${n}@example.org`): Promise<{ id: string; external: string }> {
  const external = `stranger-${n++}`
  const author = { external_id: external, name: 'A stranger', ...(email !== null && { email }) }
  const { id } = await dataOf(kit.test, 'POST', `${project.path}/participants`, project.agent, { body: author })
  return { id, external }
}
const emailOf = async (id: string) =>
  (await kit.test.db.prisma.projectParticipant.findUniqueOrThrow({ where: { id } })).email
const addressOf = async ({ accountId }: Person) =>
  (await kit.test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })).email
const rectify = (who: Who, id: string, changes: object) =>
  kit.test.fetch('POST', `${project.path}/participants/${id}/requests`, {
    ...who,
    body: { kinds: ['rectification'], changes },
  })
const edit = (who: Who, id: string, body: object) =>
  kit.test.fetch('PATCH', `${project.path}/participants/${id}`, { ...who, body })
const claim = (who: Who, id: string) => kit.test.fetch('POST', `/api/participations/${id}/claim`, who)

describe('the address of a participant', () => {
  it('cannot be rectified by a manager or admin, who then could claim the participation', async () => {
    const { id } = await stranger()
    const before = await emailOf(id)
    for (const who of [manager, kit.admin]) {
      await passwordEntered(kit.test, who)
      for (const email of [await addressOf(who), 'accomplice@example.org']) {
        const refused = await rectify(who, id, { email })
        expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
      }
      expect((await claim(who, id)).status).toBe(404)
    }
    expect(await emailOf(id)).toBe(before)
    expect(await kit.test.db.prisma.privacyRequest.count({ where: { participantId: id } })).toBe(0)
    // The name gives no rights.
    expect((await rectify(manager, id, { name: 'Ada' })).status).toBe(201)
  })

  it('can be rectified by an owner of the project, but not to an address of the owner', async () => {
    const { id } = await stranger()
    const refused = await rectify(project.owner, id, { email: (await addressOf(project.owner)).toUpperCase() })
    expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
    expect((await rectify(project.owner, id, { email: 'right@example.org' })).status).toBe(201)
    expect(await emailOf(id)).toBe('right@example.org')
  })

  it('cannot be set to the address of the owner of the agent that writes for a known participant', async () => {
    const { id, external } = await stranger(null)
    const conversation = await madeConversation(kit.test, project)
    const own = await addressOf(project.owner)
    const author = { external_id: external, email: own }
    const attempts = [
      kit.test.fetch('POST', `${project.path}/participants`, { ...project.agent, body: author }),
      kit.test.fetch('POST', `${project.path}/conversations/${conversation.id}/messages`, {
        ...project.agent,
        body: { role: 'user', content: 'Hello', author },
      }),
    ]
    for (const { status, json } of await Promise.all(attempts)) expect([status, json.code]).toEqual([403, 'forbidden'])
    expect(await emailOf(id)).toBeNull()
    expect((await claim(project.owner, id)).status).toBe(404)
  })
})

describe('an address that an agent reports', () => {
  /** An agent in the project: of the owner, of a member, or of nobody. */
  async function member(scopes: Parameters<typeof issuedAgent>[1], owner?: Person): Promise<Issued> {
    const agent = await issuedAgent(kit.test, scopes, {
      tier: 'enterprise',
      owner: owner ?? (await madeMember(kit.test, project)),
    })
    await dataOf(kit.test, 'POST', `${project.path}/members`, project.owner, {
      body: { kind: 'agent', member_id: agent.id },
    })
    return agent
  }
  /** A person with a verified address. */
  async function holder() {
    const person = await signedIn(kit.test)
    const { accountId: id } = person
    await kit.test.db.prisma.account.update({ where: { id }, data: { emailVerifiedAt: kit.test.clock.now() } })
    return { ...person, email: await addressOf(person) }
  }
  const author = (external: string, email: string) => ({ external_id: external, name: 'A stranger', email })
  const register = (agent: Issued, external: string, email: string) =>
    dataOf(kit.test, 'POST', `${project.path}/participants`, agent, { body: author(external, email) })
  /** Writes for somebody without an address. */
  async function written() {
    const { id, external } = await stranger(null)
    const conversation = await madeConversation(kit.test, project)
    await madeMessage(kit.test, conversation, project.agent, { author: { external_id: external } })
    return { id, external, conversation }
  }
  const messageDoor = async (agent: Issued, external: string, email: string, path: string) =>
    dataOf(kit.test, 'POST', `${path}/messages`, agent, {
      body: { role: 'user', content: 'Hello', author: author(external, email) },
    })
  const doors = {
    'a registration': (agent: Issued, external: string, email: string) => register(agent, external, email),
    'a message': (agent: Issued, external: string, email: string, conversation: string) =>
      messageDoor(agent, external, email, conversation),
    'an import': async (agent: Issued, external: string, email: string) => {
      const line = JSON.stringify({ type: 'participant', ...author(external, email) })
      const { status, json } = await kit.test.fetch('POST', `${project.path}/import`, {
        ...agent,
        body: `${line}\n`,
        headers: { 'Content-Type': 'application/x-ndjson' },
      })
      expect([status, json.data.faults]).toEqual([200, []])
    },
  }

  it.each(Object.entries(doors))(
    'in %s after it wrote for the person gives nobody the participation, until an owner or admin confirms it',
    async (_, door) => {
      for (const [agent, confirms] of [
        [project.agent, project.owner],
        [await member(['read', 'write', 'privacy']), kit.admin],
      ] as const) {
        const thief = await holder()
        const { id, external, conversation } = await written()
        await door(agent, external, thief.email, conversation.path)
        expect(await emailOf(id)).toBe(thief.email)
        const refused = await claim(thief, id)
        expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
        expect(await dataOf(kit.test, 'GET', '/api/participations', thief)).toEqual([])
        await passwordEntered(kit.test, manager)
        expect((await edit(manager, id, { email: thief.email })).status).toBe(403)
        await passwordEntered(kit.test, kit.admin)
        expect((await edit(confirms, id, { email: thief.email })).json.data).toMatchObject({ email_confirmed: true })
        expect((await claim(thief, id)).status).toBe(200)
      }
    },
  )

  it('waits in the overview of owners and in the list until it is confirmed, and members do not learn of it', async () => {
    const { id, external } = await written()
    await register(project.agent, external, 'waiting@example.org')
    const listed = async (who: Who): Promise<string[]> => {
      const found = await dataOf(kit.test, 'GET', `${project.path}/participants?unconfirmed=true`, who)
      return found.map((one: { id: string }) => one.id)
    }
    const shown = async (who: Who) =>
      (await dataOf(kit.test, 'GET', '/api/overview', who)).addresses as { project_id: string; count: number }[]
    const member = await madeMember(kit.test, project)
    expect(await listed(project.owner)).toContain(id)
    expect([await listed(member), await shown(member), await shown(manager)]).toEqual([[], [], []])
    const [before] = await shown(project.owner)
    expect(before).toMatchObject({ project_id: project.id, count: (await listed(project.owner)).length })
    expect((await edit(project.owner, id, { email: 'waiting@example.org' })).status).toBe(200)
    expect(await listed(project.owner)).not.toContain(id)
    expect((await shown(project.owner))[0]?.count ?? 0).toBe((before?.count ?? 0) - 1)
  })

  it('is a notification of admins while no open account owns the project, and stays read when a participant changes', async () => {
    const owner = await signedIn(kit.test, 'person', project.owner.organisationId)
    const { id, agent, conversation, registered } = await ownedByAgent(['read', 'write'], owner)
    const about = async (): Promise<{ id: string; is_read: boolean }[]> =>
      (await dataOf(kit.test, 'GET', '/api/notifications', kit.admin)).filter(
        ({ kind, resource_id }: { kind: string; resource_id: string }) => kind === 'address' && resource_id === id,
      )
    const report = async () => {
      const external = `waits-${n++}`
      await madeMessage(kit.test, conversation, agent, { author: { external_id: external } })
      await registered(external, `${external}@example.org`)
    }
    await report()
    expect(await about()).toEqual([])
    await kit.test.db.prisma.account.update({
      where: { id: owner.accountId },
      data: { deactivatedAt: kit.test.clock.now() },
    })
    const [first] = await about()
    expect(first).toMatchObject({ is_read: false })
    const ids = [first?.id ?? '']
    await kit.test.fetch('PUT', '/api/notifications/read', { cookie: kit.admin.cookie, body: { ids } })
    expect(await about()).toMatchObject([{ is_read: true }])
    kit.test.clock.advance(1_000)
    await report()
    expect(await about()).toMatchObject([{ is_read: true }])
  })

  it('lets the person claim if the token acts for participants, or nothing was written before', async () => {
    const [one, other] = [await holder(), await holder()]
    const known = await written()
    await register(await member(['write', 'privacy'], project.owner), known.external, one.email)
    expect((await claim(one, known.id)).status).toBe(200)
    const { id, external } = await stranger(null)
    await register(project.agent, external, other.email)
    expect((await claim(other, id)).status).toBe(200)
  })

  /** A project of the agent whose token created it. */
  async function ownedByAgent(scopes: Parameters<typeof issuedAgent>[1], owner: Person = project.owner) {
    const agent = await issuedAgent(kit.test, scopes, { tier: 'enterprise', owner })
    const { id } = await dataOf(kit.test, 'POST', '/api/projects', agent, { body: { name: 'A project of an agent' } })
    const path = `/api/projects/${id}`
    const conversation = await madeConversation(kit.test, { ...project, id, path, agent }, {}, agent)
    const registered = async (external: string, email?: string): Promise<{ id: string }> =>
      dataOf(kit.test, 'POST', `${path}/participants`, agent, {
        body: { external_id: external, ...(email !== undefined && { email }) },
      })
    const change = (participant: string, body: object) =>
      kit.test.fetch('PATCH', `${path}/participants/${participant}`, { ...agent, body })
    return { id, agent, conversation, registered, change }
  }

  it('an address that is reported with the token that created the project requires the scope privacy once something was written', async () => {
    for (const [scopes, status] of [
      [['read', 'write'], 403],
      [['read', 'write', 'privacy'], 200],
    ] as const) {
      const thief = await holder()
      const external = `owned-${n++}`
      const { agent, conversation, registered } = await ownedByAgent([...scopes])
      await madeMessage(kit.test, conversation, agent, { author: { external_id: external } })
      const { id } = await registered(external, thief.email)
      expect(await emailOf(id)).toBe(thief.email)
      expect((await claim(thief, id)).status).toBe(status)
    }
  })

  it('is replaced or confirmed, and an account connected, only by a token of the scope privacy', async () => {
    for (const [scopes, status] of [
      [['read', 'write'], 403],
      [['read', 'write', 'privacy'], 200],
    ] as const) {
      const [thief, right] = [await holder(), `right-${n}@example.org`]
      const { registered, change } = await ownedByAgent([...scopes])
      const { id } = await registered(`replaced-${n++}`, right)
      const changed = await change(id, { email: thief.email })
      expect([changed.status, changed.json.code]).toEqual([status, status === 403 ? 'scope_too_small' : undefined])
      expect(await emailOf(id)).toBe(status === 403 ? right : thief.email)
      expect((await claim(thief, id)).status).toBe(status === 403 ? 404 : 200)
      const colleague = await signedIn(kit.test, 'person', project.owner.organisationId)
      const { id: other } = await registered(`connected-${n++}`)
      expect((await change(other, { account_id: colleague.accountId })).status).toBe(status)
      expect((await change(other, { name: 'A name' })).status).toBe(200)
    }
  })

  it('is stored once if two requests add different addresses at once', async () => {
    const { external, id } = await stranger(null)
    const emails = ['one@example.org', 'two@example.org'] as const
    const answers = await Promise.all(
      emails.map((email) =>
        kit.test.fetch('POST', `${project.path}/participants`, { ...project.agent, body: author(external, email) }),
      ),
    )
    expect(answers.map(({ json }) => json.code ?? 'stored').toSorted()).toEqual(['conflict', 'stored'])
    expect(await emailOf(id)).toBe(emails[answers.findIndex(({ json }) => json.code === undefined)])
  })

  it('cannot be prepared by the agent of a member before the application writes for the person', async () => {
    const thief = await holder()
    const external = `prepared-${n++}`
    const { id } = await register(await member(['write']), external, thief.email)
    const conversation = await madeConversation(kit.test, project)
    await madeMessage(kit.test, conversation, project.agent, { author: { external_id: external } })
    expect((await claim(thief, id)).status).toBe(403)
  })

  it('is no evidence while the token waits for its owner, who changed the sign-in', async () => {
    const thief = await holder()
    const agent = await member(['write', 'privacy'], project.owner)
    await kit.test.db.prisma.token.update({ where: { id: agent.tokenId }, data: { ownerConfirms: true } })
    const { id } = await register(agent, `marked-${n++}`, thief.email)
    expect((await claim(thief, id)).status).toBe(403)
  })
})

describe('an address that somebody added or confirmed', () => {
  const written = async (email: string | null) => {
    const { id, external } = await stranger(email)
    const conversation = await madeConversation(kit.test, project)
    await madeMessage(kit.test, conversation, project.agent, { author: { external_id: external } })
    return { id, external }
  }
  const speaker = () =>
    issuedAgent(kit.test, ['read', 'write', 'privacy'], { tier: 'enterprise', owner: project.owner }).then(
      async (agent) => {
        const body = { kind: 'agent', member_id: agent.id, role: 'owner' }
        await dataOf(kit.test, 'POST', `${project.path}/members`, project.owner, { body })
        return agent
      },
    )
  /** Every way to add or confirm the address of a known participant, and the account that answers for it. */
  const doors = {
    'an owner who changes it': async (email: string) => {
      const { id } = await written('before@example.org')
      return { id, who: project.owner, done: await edit(project.owner, id, { email }) }
    },
    'an owner who rectifies it': async (email: string) => {
      const { id } = await written('before@example.org')
      return { id, who: project.owner, done: await rectify(project.owner, id, { email }) }
    },
    'an admin who adds a missing one': async (email: string) => {
      const { id } = await written(null)
      return { id, who: kit.admin, done: await edit(kit.admin, id, { email }) }
    },
    'an admin who confirms a reported one': async (email: string) => {
      const { id, external } = await written(null)
      const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: await madeMember(kit.test, project) })
      const body = { kind: 'agent', member_id: agent.id }
      await dataOf(kit.test, 'POST', `${project.path}/members`, project.owner, { body })
      await dataOf(kit.test, 'POST', `${project.path}/participants`, agent, { body: { external_id: external, email } })
      return { id, who: kit.admin, done: await edit(kit.admin, id, { email }) }
    },
    'the agent of an owner that changes it': async (email: string) => {
      const { id } = await written('before@example.org')
      return { id, who: project.owner, done: await edit(await speaker(), id, { email }) }
    },
    'the agent of an owner that adds it': async (email: string) => {
      const { id, external } = await written(null)
      const body = { external_id: external, email }
      const done = await kit.test.fetch('POST', `${project.path}/participants`, { ...(await speaker()), body })
      return { id, who: project.owner, done }
    },
  }

  it.each(Object.entries(doors))(
    'by %s cannot be claimed by them, until another person confirms it',
    async (_, door) => {
      const email = `second-mailbox-${n++}@example.org`
      await passwordEntered(kit.test, kit.admin)
      const { id, who, done } = await door(email)
      expect(done.status, done.text).toBeLessThan(300)
      const { accountId } = who
      const before = await addressOf(who)
      const rename = (address: string) =>
        kit.test.db.prisma.account.update({
          where: { id: accountId },
          data: { email: address, emailVerifiedAt: kit.test.clock.now() },
        })
      // The account has the other address only afterwards.
      await rename(email)
      const refused = await claim(who, id)
      expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
      expect(refused.json.detail).toContain('added or confirmed this address')
      const other = who === kit.admin ? project.owner : kit.admin
      // The stored address that a form sends with other changes confirms nothing.
      expect((await edit(other, id, { email, name: 'A stranger' })).status).toBe(200)
      expect((await claim(who, id)).status).toBe(403)
      expect((await edit(other, id, { email })).status).toBe(200)
      expect((await claim(who, id)).status).toBe(200)
      await rename(before)
    },
  )
})

describe('an address in another form', () => {
  const forms = [
    'jö@bücher.example',
    'jö@xn--bcher-kva.example',
    'jö@bücher.example'.normalize('NFD'),
    'JÖ@Bücher.Example',
  ]
  const named = async (address: string) => {
    const person = await signedIn(kit.test)
    const { accountId: id } = person
    const data = { email: address, emailVerifiedAt: kit.test.clock.now() }
    await kit.test.db.prisma.account.update({ where: { id }, data })
    return person
  }

  it('is listed and claimed by its holder, and counted as unclaimed before, however it was stored', async () => {
    const person = await named('jö@bücher.example')
    for (const form of forms) {
      const { id } = await stranger()
      // Rows from before may have any form.
      await kit.test.db.prisma.projectParticipant.update({ where: { id }, data: { email: form.toLowerCase() } })
      const listed = await dataOf(kit.test, 'GET', '/api/participations', person)
      expect([form, listed.map((one: { id: string }) => one.id)]).toEqual([form, expect.arrayContaining([id])])
      expect([form, (await claim(person, id)).status]).toEqual([form, 200])
    }
    for (const { id } of await kit.test.db.prisma.projectParticipant.findMany({
      where: { accountId: person.accountId },
    }))
      await kit.test.db.prisma.projectParticipant.delete({ where: { id } })
    await kit.test.db.prisma.account.update({
      where: { id: person.accountId },
      data: { email: `renamed-${n++}@example.org` },
    })
  })

  it('is one’s own, the same in a report, and no change', async () => {
    const before = await addressOf(project.owner)
    const own = (email: string) =>
      kit.test.db.prisma.account.update({ where: { id: project.owner.accountId }, data: { email } })
    const { id } = await stranger()
    await own('jö@bücher.example')
    for (const email of forms) {
      const refused = await rectify(project.owner, id, { email })
      expect([email, refused.status, refused.json.code]).toEqual([email, 403, 'forbidden'])
    }
    await own(before)
    const { external } = await stranger('jö@bücher.example')
    for (const email of forms) {
      const body = { external_id: external, email }
      const { status } = await kit.test.fetch('POST', `${project.path}/participants`, { ...project.agent, body })
      expect([email, status]).toEqual([email, 200])
    }
  })
})

describe('a wrong claim', () => {
  it('is reset by an admin together with the address, after which the owner sets the right one', async () => {
    const { id } = await stranger()
    const claimer = await signedIn(kit.test, 'person', project.owner.organisationId)
    expect((await edit(project.owner, id, { account_id: claimer.accountId })).status).toBe(200)
    for (const who of [project.owner, manager, claimer])
      expect((await edit(who, id, { account_id: null, email: null })).status).not.toBe(200)
    const reset = await edit(kit.admin, id, { account_id: null, email: null })
    expect([reset.status, reset.json.data?.claimed, reset.json.data?.email], reset.text).toEqual([200, false, null])
    expect((await edit(project.owner, id, { email: 'right@example.org' })).status).toBe(200)
    // Without a claim to reset, an admin does not remove an address.
    expect((await edit(kit.admin, id, { email: null })).status).toBe(403)
    expect((await edit(kit.admin, id, { email: 'accomplice@example.org' })).status).toBe(403)
  })
})

describe('a request from the form', () => {
  it('is connected only to a participant with the confirmed address', async () => {
    const [none, another] = [await stranger(null), await stranger('another@example.org')]
    const id = 'preq_0000000000000000000000'
    await kit.test.db.prisma.privacyRequest.create({
      data: {
        id,
        kinds: ['access'],
        channel: 'form',
        subjectKind: 'requester',
        subjectKey: 'a keyed hash',
        addressKey: 'the keyed hash of a third address',
        filedBy: 'anonymous',
        receivedAt: kit.test.clock.now(),
        legalDueAt: new Date(kit.test.clock.now().getTime() + 30 * 86_400_000),
        parts: { create: [{ kind: 'access' }] },
      },
    })
    for (const participant of [none, another]) {
      const body = { project_id: project.id, participant_id: participant.id }
      const { status, json } = await kit.asAdmin(id, 'connect', body)
      expect([status, json.code]).toEqual([409, 'conflict'])
    }
  })
})
