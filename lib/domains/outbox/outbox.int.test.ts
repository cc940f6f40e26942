import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enqueue } from '#lib/jobs/queue.ts'
import { newId } from '#lib/kernel/ids.ts'
import { emailContent } from '#lib/stores/mail/email-content.ts'
import { emailParts } from '#lib/stores/mail/email-parts.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { madeProject } from '#lib/testing/projects.ts'
import { testEmailsPerMinute } from './service.ts'

let test: TestApp
let admin: Person
let folder: string
beforeAll(async () => {
  test = await testApp()
  admin = await signedIn(test, 'admin')
  await verify(admin, 'ada@example.org')
  folder = join(test.dataDir, 'mail')
})
afterAll(() => test.close())

/** Gives the account an address, which it has proved to receive. */
const verify = ({ accountId }: Pick<Person, 'accountId'>, email: string) =>
  test.db.prisma.account.update({ where: { id: accountId }, data: { email, emailVerifiedAt: test.clock.now() } })

const path = '/api/admin/outbox'
const secret = 'https://registry.example/privacy/confirm?code=a-secret-code'
const send = async (
  subject: string,
  paragraphs = ['A line.', secret, `Again: ${secret}, and http://other.example/x.`],
  about = admin.accountId,
) => {
  await test.app.mail.send({ to: 'ada@example.org', about, ...emailContent('en', subject, paragraphs) })
  const name =
    readdirSync(folder)
      .filter((one) => /^\d/.test(one))
      .sort()
      .at(-1) ?? ''
  return name.replace('.eml', '')
}
/** An account whose person has not chosen a password. */
const invited = async () => {
  const body = { name: 'Ada', role: 'person', email: `${newId('mail').toLowerCase()}@example.org` }
  const { json } = await test.fetch('POST', '/api/admin/users', { ...admin, body })
  return { accountId: String(json.data.account_id), email: body.email }
}
const list = async (query = '') => (await test.fetch('GET', `${path}${query}`, admin)).json
const nameOf = (seconds: number) => `2026-01-01T00-00-${String(seconds).padStart(2, '0')}.000Z-0123abcd.eml`

describe('emails in the folder', () => {
  it('the list before the first email is empty and states the delivery method', async () => {
    expect(await list()).toMatchObject({
      data: [],
      total: 0,
      next_cursor: null,
      delivery: 'folder',
      queue: { waiting: 0, retrying: 0, failed: 0, jobs: [] },
    })
  })

  it('are listed without links, read with numbered placeholders for links, and read with real links on request, which is audited', async () => {
    const id = await send('您的删除请求')
    const listed = await test.fetch('GET', path, admin)
    expect(listed.json.data).toMatchObject([{ id, to: 'ada@example.org', subject: '您的删除请求' }])
    const [{ written_at, expires_at }] = listed.json.data
    expect(Date.parse(expires_at) - Date.parse(written_at)).toBe(7 * 86_400_000)
    expect(await list('?q=ADA@')).toMatchObject({ data: [{ id }], total: 1 })
    expect(await list(`?q=${encodeURIComponent('删除')}`)).toMatchObject({ data: [{ id }], total: 1 })
    expect(await list('?q=nobody')).toMatchObject({ data: [], total: 0 })
    const read = await test.fetch('GET', `${path}/${id}`, admin)
    expect(read.json.data).toMatchObject({
      text: 'A line.\n\n‹1›\n\nAgain: ‹2› and ‹3›\n\nKnowledgePulse',
      link_count: 3,
      links: null,
      is_cut: false,
    })
    expect(listed.text + read.text).not.toContain('a-secret-code')
    const shown = await test.fetch('GET', `${path}/${id}?links=show`, admin)
    expect(shown.json.data.links[0]).toBe(secret)
    const entries = await test.app.audit.query({ resource_type: 'letter', resource_id: id }, test.clock.now())
    expect(entries.map(({ details }) => details?.links).sort()).toEqual(['hidden', 'shown'])
    expect(JSON.stringify(entries)).not.toMatch(/ada@example|a-secret-code|删除/)
  })

  it('showing the links of an email in the folder is audited with account id and purpose, without an address', async () => {
    const person = await invited()
    const link = `${test.url}/password/new#a-secret-code`
    await test.app.mail.send({
      to: 'ada@example.org',
      about: person.accountId,
      ...emailContent('en', 'Choose a new password', [link, 'https://other.example/password/ada']),
    })
    const [newest] = (await list()).data
    await test.fetch('GET', `${path}/${newest.id}?links=show`, admin)
    const [entry] = await test.app.audit.query({ resource_type: 'letter', resource_id: newest.id }, test.clock.now())
    expect(entry?.details).toMatchObject({ links: 'shown', about: person.accountId, purposes: ['password'] })
    expect(JSON.stringify(entry)).not.toMatch(/ada|secret/)
    rmSync(join(folder, `${newest.id}.eml`))
  })

  it('showing the links of an email in the folder is rejected when the password was not entered within ten minutes', async () => {
    const id = await send('Choose a new password')
    const earlier = await signedIn(test, 'admin')
    test.clock.advance(11 * 60_000)
    const shown = await test.fetch('GET', `${path}/${id}?links=show`, earlier)
    expect([shown.status, shown.json.code]).toEqual([403, 'step_up_required'])
    expect((await test.fetch('GET', `${path}/${id}`, earlier)).status).toBe(200)
    rmSync(join(folder, `${id}.eml`))
  })

  it('are listed newest first, each once, across pages', async () => {
    for (let n = 10; n < 15; n++)
      writeFileSync(join(folder, nameOf(n)), `To: n${n}@example.org\r\nSubject: number ${n}\r\n\r\n`)
    const subjects: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await list(`?limit=2${cursor && `&cursor=${cursor}`}`)
      expect(page.total).toBe(6)
      subjects.push(...page.data.map(({ subject }: { subject: string }) => subject))
      cursor = page.next_cursor
    }
    expect(subjects).toEqual(['您的删除请求', 'number 14', 'number 13', 'number 12', 'number 11', 'number 10'])
  })

  it('emails in the folder that were deleted meanwhile return 404 and are not listed', async () => {
    const id = await send('Gone soon')
    rmSync(join(folder, `${id}.eml`))
    expect((await test.fetch('GET', `${path}/${id}`, admin)).status).toBe(404)
    expect((await list()).data.some((one: { id: string }) => one.id === id)).toBe(false)
  })

  it('are deleted after 7 days', async () => {
    const id = await send('Old')
    utimesSync(join(folder, `${id}.eml`), new Date(Date.now() - 8 * 86_400_000), new Date(Date.now() - 8 * 86_400_000))
    for (const job of test.app.jobs.filter(({ name }) => name === 'accounts.upkeep'))
      await job.execute(test.app.pipeline, {})
    expect((await test.fetch('GET', `${path}/${id}`, admin)).status).toBe(404)
  })
})

describe('other files in the folder', () => {
  it.each([
    '..%2F..%2Fsecret',
    '..%2fmail%2f2026-01-01T00-00-10.000Z-0123abcd',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd%00aaaaaaaaaaaaaaaaaaaa',
    '....................................',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  ])('%s is not accepted as an email id', async (id) => {
    const response = await test.fetch('GET', `${path}/${id}`, admin)
    expect([404, 422]).toContain(response.status)
  })

  it('other files, folders, symbolic links and pipes are ignored without waiting', async () => {
    writeFileSync(join(test.dataDir, 'secret-file'), 'To: x\r\nSubject: the secret itself\r\n\r\n')
    writeFileSync(join(folder, 'note.eml'), 'Subject: no letter of ours\r\n\r\n')
    symlinkSync(join(test.dataDir, 'secret-file'), join(folder, nameOf(20)))
    mkdirSync(join(folder, nameOf(21)))
    execFileSync('/usr/bin/env', ['mkfifo', join(folder, nameOf(22))])
    const page = await test.fetch('GET', `${path}?limit=100`, admin)
    expect(page.status).toBe(200)
    expect(page.text).not.toMatch(/the secret itself|no letter of ours/)
    for (const n of [20, 21, 22])
      expect((await test.fetch('GET', `${path}/${nameOf(n).replace('.eml', '')}`, admin)).status).toBe(404)
    for (const n of [20, 21, 22]) rmSync(join(folder, nameOf(n)), { recursive: true })
  })

  it('are truncated and marked when huge, and have no text when binary', async () => {
    writeFileSync(
      join(folder, nameOf(30)),
      `Subject: huge\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(50_000_000)}`,
    )
    writeFileSync(join(folder, nameOf(31)), Buffer.from(Array.from({ length: 5_000 }, (_, n) => (n * 7_919) % 256)))
    const huge = await test.fetch('GET', `${path}/${nameOf(30).replace('.eml', '')}`, admin)
    expect(huge.json.data).toMatchObject({ subject: 'huge', is_cut: true, bytes: expect.any(Number) })
    expect(huge.text.length).toBeLessThan(300_000)
    const binary = await test.fetch('GET', `${path}/${nameOf(31).replace('.eml', '')}`, admin)
    expect([binary.status, binary.json.data.text]).toEqual([200, null])
    expect((await test.fetch('GET', `${path}?limit=100`, admin)).status).toBe(200)
    for (const n of [30, 31]) rmSync(join(folder, nameOf(n)))
  })
})

it('the queue counts waiting, retrying and failed emails, with ids and without addresses', async () => {
  await test.db.pool.query('DELETE FROM graphile_worker._private_jobs')
  await test.db.transaction(async (tx) => {
    for (let n = 0; n < 3; n++)
      await enqueue(
        tx,
        'accounts.notify',
        { kind: 'password-reset', accountId: `usr_${n}`, at: '' },
        { maxAttempts: 12 },
      )
    await enqueue(tx, 'retention.resume', { sweepId: 'none' })
  })
  await test.db.pool.query(`UPDATE graphile_worker._private_jobs SET attempts = CASE WHEN id % 2 = 0 THEN 12 ELSE 3 END
    WHERE id IN (SELECT id FROM graphile_worker.jobs WHERE task_identifier = 'accounts.notify' ORDER BY id LIMIT 2)`)
  const { queue } = await list()
  expect(queue).toMatchObject({ waiting: 1, retrying: 1, failed: 1 })
  expect(queue.jobs.map(({ state }: { state: string }) => state)).toEqual(['failed', 'retrying', 'waiting'])
  expect(JSON.stringify(queue)).not.toContain('usr_')
  await test.db.pool.query('DELETE FROM graphile_worker._private_jobs')
})

it('the outbox is limited to admins', async () => {
  const id = await send('For admins')
  const cases = [
    [{}, 401],
    [await signedIn(test), 403],
    [await signedIn(test, 'manager'), 403],
    [await signedIn(test, 'auditor'), 403],
    [{ token: (await test.agent()).token }, 403],
    [{ token: (await issuedAgent(test, ['admin'])).token }, 200, 403],
  ] as const
  // A link to choose a password gives control of the account, so a token must not read it.
  for (const [who, status, shown = status] of cases)
    for (const [at, expected] of [
      [path, status],
      [`${path}/${id}`, status],
      [`${path}/${id}?links=show`, shown],
    ] as const)
      expect([at, (await test.fetch('GET', at, who)).status]).toEqual([at, expected])
})

describe('links without a mail server', () => {
  const password = 'three unrelated quiet words'
  beforeAll(async () => {
    // With a recently entered password.
    admin = await signedIn(test, 'admin')
  })
  const retained = () => readdirSync(folder).filter((one) => /^\d/.test(one))
  const textsTo = (email: string) =>
    retained()
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .filter((text) => text.includes(`To: ${email}`))
      .map((text) => emailParts(text).text ?? '')
  const codeIn = (email: string) =>
    textsTo(email)
      .flatMap((text) => [...text.matchAll(/\/password\/new#(\w+)/g)])
      .at(-1)?.[1] ?? 'no link'
  const work = () => drain(test)
  const use = (email: string, new_password = password) =>
    test.fetch('POST', '/api/account/password/link', { body: { code: codeIn(email), new_password } })
  /** What an admin gets who asks for the links of each email to the address. */
  async function show(email: string, who: Pick<Person, 'cookie'> = admin) {
    await work()
    const ids = (await list(`?q=${encodeURIComponent(email)}`)).data.map(({ id }: { id: string }) => id)
    expect(ids.length).toBeGreaterThan(0)
    const shown = []
    for (const id of ids) {
      const { status, json } = await test.fetch('GET', `${path}/${id}?links=show`, who)
      shown.push(status === 200 ? json.data.links.length : json.code)
    }
    return shown
  }

  it('are hidden from admins for a person who has a password, regardless of who asked for them', async () => {
    const { accountId, email } = await invited()
    await work()
    expect((await use(email)).status).toBe(200)
    await test.fetch('POST', '/api/account/reset', { body: { email } })
    expect((await test.fetch('POST', `/api/admin/users/${accountId}/reset`, admin)).status).toBeLessThan(300)
    expect(new Set(await show(email))).toEqual(new Set(['forbidden', 1]))
    // The email about the chosen password has a link without a secret.
    expect(textsTo(email).filter((text) => text.includes('/password/new#'))).toHaveLength(3)
    expect((await show(email)).filter((one) => one === 'forbidden')).toHaveLength(3)
  })

  it('are hidden for a person who signs in through an identity provider, or did', async () => {
    const { accountId, email } = await invited()
    const { accountIdentity } = test.db.prisma
    const now = test.clock.now()
    await accountIdentity.create({ data: { issuer: 'https://id.example', subject: email, accountId, linkedAt: now } })
    expect(await show(email)).toEqual(['forbidden'])
    await accountIdentity.updateMany({ where: { accountId }, data: { unlinkedAt: now } })
    expect(await show(email)).toEqual(['forbidden'])
  })

  it('links that act on a privacy request are hidden without a mail server, also for a person who never signed in', async () => {
    const { email } = await invited()
    const body = { kinds: ['erasure'], email, received_at: test.clock.now().toISOString() }
    const filed = await test.fetch('POST', '/api/admin/privacy/requests', { ...admin, body })
    expect(filed.status, filed.text).toBe(201)
    const shown = await show(email)
    const acting = textsTo(email).filter((text) => text.includes('/privacy/confirm#'))
    expect(acting.length).toBeGreaterThan(0)
    expect(shown.filter((one) => one === 'forbidden')).toHaveLength(acting.length)
  })

  it('links to people without an account are shown if they only open the answer, and hidden if they confirm or change something', async () => {
    for (const [name, pages, expected] of [
      ['status', ['/request/status'], 1],
      ['confirm', ['/request/confirm'], 'forbidden'],
      ['both', ['/request/status', '/privacy/confirm'], 'forbidden'],
      ['password', ['/password/new'], 'forbidden'],
    ] as const) {
      const links = pages.map((page) => `${test.url}${page}#a-secret`)
      await test.app.mail.send({ to: `${name}@example.net`, ...emailContent('en', name, links) })
      expect([name, await show(`${name}@example.net`)]).toEqual([name, [expected]])
    }
  })

  it('links that confirm a new address are hidden from the admin who asked for it, and work for the owner of the address', async () => {
    const asking = await signedIn(test, 'admin')
    await verify(asking, 'asking@example.org')
    const victim = 'victim@example.net'
    const body = { kinds: ['rectification'], changes: { email: victim }, password: asking.password }
    const filed = await test.fetch('POST', '/api/privacy/requests', { ...asking, body })
    expect(filed.status, filed.text).toBe(201)
    expect(await show(victim, asking)).toEqual(['forbidden'])
    const token = /\/privacy\/confirm#address\.(\w+)/.exec(textsTo(victim).join())?.[1]
    const email = async () =>
      (await test.db.prisma.account.findUniqueOrThrow({ where: { id: asking.accountId } })).email
    expect(await email()).toBe('asking@example.org')
    const used = await test.fetch('POST', '/api/privacy/links/use', { body: { token, purpose: 'address' } })
    expect(used.status, used.text).toBe(200)
    expect(await email()).toBe(victim)
  })

  it('links that confirm an address are hidden in every email without a mail server, and the response names the setting for a server', async () => {
    const own = await signedIn(test, 'admin')
    await verify(own, 'own@example.org')
    const content = emailContent('en', 'New address', [`${test.url}/privacy/confirm#address.a-secret`])
    await test.app.mail.send({ to: 'own@example.org', about: own.accountId, ...content })
    const [{ id }] = (await list('?q=own@example.org')).data
    const { status, json } = await test.fetch('GET', `${path}/${id}?links=show`, own)
    expect([status, json.detail]).toEqual([403, expect.stringContaining('KP_SMTP_URL')])
  })

  it('are hidden in emails about an admin that went to another address', async () => {
    const own = await signedIn(test, 'admin')
    await verify(own, 'first@example.org')
    const content = emailContent('en', 'Choose a new password', [`${test.url}/password/new#a-secret`])
    for (const to of ['second@example.org', 'FIRST@example.org'])
      await test.app.mail.send({ to, about: own.accountId, ...content })
    expect(await show('second@example.org', own)).toEqual(['forbidden'])
    expect(await show('first@example.org', own)).toEqual([1])
  })

  it('links to reset their own password are hidden from admins without a verified address, and otherwise recorded as shown', async () => {
    const own = await signedIn(test, 'admin')
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: own.accountId } })
    await test.fetch('POST', '/api/account/reset', { body: { email } })
    expect(await show(email, own)).toEqual(['forbidden'])
    const links = () => test.db.prisma.accountLink.findMany({ where: { accountId: own.accountId } })
    expect(await links()).toMatchObject([{ shownAt: null }])
    await verify(own, email)
    expect(await show(email, own)).toEqual([1])
    expect(await links()).toMatchObject([{ shownAt: expect.any(Date) }])
  })

  it('links that download the copy of a participant open only its status after an admin saw them', async () => {
    const on = await test.fetch('PATCH', '/v1/settings', {
      ...admin,
      body: { request_form: { is_on: true, origins: [] } },
    })
    expect(on.status, on.text).toBe(200)
    const email = 'participant@example.net'
    const project = await madeProject(test)
    const participant = { token: project.agent.token, body: { external_id: 'pat', name: 'Pat', email } }
    expect((await test.fetch('POST', `${project.path}/participants`, participant)).status).toBeLessThan(300)
    const { id: participantId } = await test.db.prisma.projectParticipant.findFirstOrThrow({
      where: { projectId: project.id },
    })
    const form = (at: string, body: object) => test.fetch('POST', `/api/privacy/form${at}`, { body })
    const act = async (at: string, body: object = {}) => {
      const acted = await test.fetch('POST', `/api/admin/privacy/${at}`, { ...admin, body })
      expect(acted.status, acted.text).toBe(200)
      return acted.json.data
    }
    expect((await form('', { email, kind: 'access', locale: 'en' })).status).toBe(202)
    await work()
    // The admin who forwards the confirmation link can use it.
    const { id: unconfirmed } = await test.db.prisma.unconfirmedRequest.findFirstOrThrow()
    const { link } = await act(`unconfirmed/${unconfirmed}/link`)
    expect((await form('/confirm', { token: link.split('#')[1] })).status).toBe(200)
    const { id } = await test.db.prisma.privacyRequest.findFirstOrThrow({ where: { channel: 'form' } })
    await act(`requests/${id}/connect`, { project_id: project.id, participant_id: participantId })
    await act(`requests/${id}/verify`, { note: 'Called back' })
    await work()
    const token = textsTo(email)
      .flatMap((text) => [...text.matchAll(/\/request\/status#(\w+)/g)])
      .at(-1)?.[1]
    expect((await form('/status', { token })).json.data.copy).toBe('download')
    // The third is the link that confirms the address.
    expect(await show(email)).toEqual([1, 1, 'forbidden'])
    expect((await form('/status', { token })).json.data).toMatchObject({ stage: 'completed', copy: 'organization' })
    const copy = await form('/copy', { token })
    expect([copy.status, copy.json.detail]).toEqual([
      409,
      expect.stringContaining('an admin of this installation saw it'),
    ])
  })

  it('are shown for an invitation that nobody accepted, whose use then proves no address', async () => {
    const { accountId, email } = await invited()
    const verifiedAt = async () =>
      (await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })).emailVerifiedAt
    expect(await show(email)).toEqual([2])
    expect((await use(email)).status).toBe(200)
    expect(await verifiedAt()).toBeNull()
    expect(await show(email)).toContain('forbidden')
    // A link that only the person could see proves it.
    await test.fetch('POST', '/api/account/reset', { body: { email } })
    await work()
    expect((await use(email, 'four other very quiet words')).status).toBe(200)
    expect(await verifiedAt()).not.toBeNull()
  })
})

it('the outbox reports a mail server and still lists earlier emails', async () => {
  const other = await testApp({ KP_SMTP_URL: 'smtp://127.0.0.1:1' })
  try {
    mkdirSync(join(other.dataDir, 'mail'))
    writeFileSync(join(other.dataDir, 'mail', nameOf(1)), 'To: a@example.org\r\nSubject: From before\r\n\r\n')
    const response = await other.fetch('GET', path, await signedIn(other, 'admin'))
    expect(response.json).toMatchObject({ delivery: 'server', data: [{ subject: 'From before' }] })
  } finally {
    await other.close()
  }
})

describe('POST /api/admin/outbox/test', () => {
  const ask = (who: Pick<Person, 'cookie'>) => test.fetch('POST', `${path}/test`, { cookie: who.cookie })

  it('writes an email to the admin’s own address into the folder and says so', async () => {
    const answer = await ask(admin)
    expect(answer.json.data).toEqual({ result: 'folder', to: expect.stringContaining('@'), reason: null })
    const { data } = await list(`?q=${encodeURIComponent('Test email')}`)
    expect(data[0]).toMatchObject({ to: answer.json.data.to, subject: 'Test email' })
    const entries = await test.app.audit.query({ resource_id: 'test' }, test.clock.now())
    expect(entries.map(({ details }) => details)).toEqual([expect.objectContaining({ result: 'folder' })])
    expect(JSON.stringify(entries)).not.toContain(answer.json.data.to)
  })

  it('is refused above the limit of each admin, and sends nothing then', async () => {
    const [eager, other] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: eager.accountId } })
    const statuses: number[] = []
    // More than two windows of one minute admit.
    for (let calls = 0; calls <= 2 * testEmailsPerMinute; calls++) statuses.push((await ask(eager)).status)
    expect([...new Set(statuses)].sort()).toEqual([200, 429])
    const sent = (await list(`?q=${encodeURIComponent(email)}`)).total
    expect(sent).toBe(statuses.filter((status) => status === 200).length)
    expect((await ask(other)).status).toBe(200)
  })

  it('is refused to people, managers, auditors and tokens', async () => {
    for (const role of ['person', 'manager', 'auditor'] as const)
      expect((await ask(await signedIn(test, role))).status).toBe(403)
    const { token } = await issuedAgent(test, ['admin'])
    expect((await test.fetch('POST', `${path}/test`, { token })).status).toBe(403)
  })
})
