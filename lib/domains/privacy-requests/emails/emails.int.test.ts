import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest({ KP_PRIVACY_EMAIL: 'privacy@kp.example' })
})
afterAll(() => kit.close())

const filed = async (person: MadePerson, body: object): Promise<string> => {
  const made = await kit.file(person.cookie, { password: person.password, ...body })
  expect(made.status).toBe(201)
  return made.json.data.id
}
/** Returns the emails about one request, oldest first. */
const emailsAbout = (person: MadePerson, id: string): string[] =>
  kit.emailsTo(person.email).flatMap(({ subject, text }) => (text.includes(id) ? [`${subject}\n${text}`] : []))

it('the first email about a request contains the contact address for questions', async () => {
  const person = await personWithPassword(kit.test)
  await filed(person, { kinds: ['restriction'] })
  await kit.work()
  expect(kit.emailsTo(person.email)[0]?.text).toContain('privacy@kp.example')
})

describe('emails about a cancelled erasure', () => {
  it('list the kinds that were carried out and remain in effect, as does the response', async () => {
    const person = await personWithPassword(kit.test)
    const id = await filed(person, { kinds: ['erasure', 'restriction', 'rectification'], changes: { name: 'Another' } })
    const entry = await kit.act(person.cookie, id, 'cancel')
    expect(entry.json.message).toMatch(/erased nothing\. Completed parts remain in effect/)
    await kit.work()
    const last = emailsAbout(person, id).at(-1)
    expect(last).toMatch(/is cancelled.*deleted nothing/)
    expect(last).toContain('remain in effect: the corrections; the restriction')
    expect(last).not.toContain('as before')
    const account = await kit.test.fetch('GET', '/api/account', { cookie: person.cookie })
    expect(account.json.data.name).toBe('Another')
  })
  it('name the agent and a larger erasure that replaces the request, and do not report that nothing was erased', async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
    const one = await filed(owner, { kinds: ['erasure'], agent_id: agent.id, grace: '14d' })
    await kit.work()
    const [first] = emailsAbout(owner, one)
    expect(first).toContain('The data of one of your agents will be deleted')
    expect(first).toContain(`the agent ${agent.id}`)
    const all = await filed(owner, { kinds: ['erasure'], grace: 'now' })
    await kit.work()
    const moot = emailsAbout(owner, one).at(-1)
    expect(moot).toContain('part of your larger deletion')
    expect(moot).not.toMatch(/deleted nothing/)
    const begun = emailsAbout(owner, all).find((text) => text.includes('cannot be cancelled'))
    expect(begun).toBeDefined()
    expect(begun).not.toContain('Until then')
  })
})

describe('emails about an erasure that waits for a copy', () => {
  const waiting = async (grace = '14d'): Promise<{ person: MadePerson; id: string }> => {
    const person = await personWithPassword(kit.test)
    const id = await filed(person, { kinds: ['erasure', 'access'], grace })
    await kit.work()
    return { person, id }
  }
  it('mention the copy when the grace period begins and when the copy is ready', async () => {
    const { person, id } = await waiting()
    const said = emailsAbout(person, id)
    expect(said.find((text) => text.includes('The deletion begins at'))).toContain('until you have downloaded the copy')
    expect(said.find((text) => text.includes('Your copy is ready'))).toMatch(/begins once you have downloaded the copy/)
  })
  it('report that the erasure still waits for the copy when an admin ends a grace period that is over', async () => {
    const { person, id } = await waiting('now')
    const entry = await kit.asAdmin(id, 'expedite', { reason: 'Asked by telephone.' })
    expect([entry.status, entry.json.data.state]).toEqual([200, 'waiting'])
    expect(entry.json.message).toContain('downloaded or expires')
    await kit.work()
    expect(emailsAbout(person, id).at(-1)).toMatch(/begins once the copy.*downloaded or expires/)
    const { parts } = await kit.adminRead(id)
    const copy = await kit.test.fetch('GET', `/api/privacy/exports/${parts[0].outcome.export_id}/file`, {
      cookie: person.cookie,
    })
    expect(copy.status).toBe(200)
    // The server records the end of a download slightly later than the client.
    await expect
      .poll(
        async () => {
          await kit.tick()
          return (await kit.adminRead(id)).state
        },
        { timeout: 120_000 },
      )
      .toBe('completed')
  })
  it('report that the copy is dropped when an admin drops it or the subject ends the grace period', async () => {
    for (const end of [
      (_: MadePerson, id: string) => kit.asAdmin(id, 'expedite', { reason: 'Asked by telephone.', drop_copies: true }),
      ({ cookie, password }: MadePerson, id: string) => kit.act(cookie, id, 'expedite', { password }),
    ]) {
      const { person, id } = await waiting('now')
      expect((await end(person, id)).json.data.state).toBe('running')
      await kit.work()
      expect(emailsAbout(person, id).find((text) => text.includes('grace period of your request was ended'))).toContain(
        'You did not download the copy',
      )
      expect((await kit.adminRead(id)).state).toBe('completed')
    }
  })
})

it('an email about a refused objection reports that agents can write again, and the reason once', async () => {
  const person = await personWithPassword(kit.test)
  const id = await filed(person, { kinds: ['objection'], statement: 'I object to being scored.' })
  await kit.asAdmin(id, 'refuse', { ground: 'unfounded', reason: 'Scores are about units.' })
  await kit.work()
  const last = emailsAbout(person, id).at(-1) ?? ''
  expect(last).toContain('agents can write again')
  expect(last.match(/lodge a complaint/g)).toHaveLength(1)
  expect(last).not.toContain('for the reason below')
})
