import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { madeProject } from '#lib/testing/projects.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest({ KP_TRUSTED_PROXIES: '127.0.0.1,::1' })
  test = kit.test
  await turn(true)
})
afterAll(() => kit?.close())

const day = 86_400_000
let count = 0
const newAddress = () => `stranger-${++count}@example.org`
async function turn(isOn: boolean, origins: string[] = []) {
  await passwordEntered(test, kit.admin)
  const response = await test.fetch('PATCH', '/v1/settings', {
    cookie: kit.admin.cookie,
    body: { request_form: { is_on: isOn, origins } },
  })
  expect(response.status).toBe(200)
}
let networks = 0
/** By default, each call comes from another network. */
const newNetwork = () => `198.51.${Math.floor(++networks / 250)}.${networks % 250}`
const post = (path: string, body: object, from = newNetwork()) =>
  test.fetch('POST', `/api/privacy/form${path}`, { body, headers: { 'X-Forwarded-For': from } })
const send = (email: string, more: object = {}, from?: string) =>
  post('', { email, kind: 'access', locale: 'en', ...more }, from)
const secretIn = (email: string, page: string): string => {
  const texts = kit.emailsTo(email).map(({ text }) => text)
  return (
    texts.flatMap((text) => [...text.matchAll(new RegExp(`/request/${page}#(\\w+)`, 'g'))]).at(-1)?.[1] ?? 'no link'
  )
}
/** Sends the form, confirms the address, and returns the id of the request and the token of its status page. */
async function filed(email: string, more: object = {}) {
  expect((await send(email, more)).status).toBe(202)
  await kit.work()
  expect((await post('/confirm', { token: secretIn(email, 'confirm') })).status).toBe(200)
  await kit.work()
  const [latest] = await test.db.prisma.privacyRequestEvent.findMany({
    where: { event: 'received', request: { channel: 'form' } },
    orderBy: { id: 'desc' },
    take: 1,
  })
  return { id: latest?.requestId ?? 'none', token: secretIn(email, 'status') }
}
const status = async (token: string) => post('/status', { token })
const copied = async (token: string, from?: string) => {
  const { status: code, json, text, headers } = await post('/copy', { token }, from)
  return { status: code, code: json?.code, text, headers }
}

describe('the form', () => {
  it('files a request only after the address is confirmed, with the deadline from the time of sending', async () => {
    const email = newAddress()
    const sent = await send(email, { name: 'Ada Example', statement: 'Please send me my data' })
    expect(sent.status).toBe(202)
    const at = test.clock.now()
    await kit.work()
    expect(await test.db.prisma.privacyRequest.count({ where: { channel: 'form' } })).toBe(0)
    test.clock.advance(day / 2)
    const confirmed = await post('/confirm', { token: secretIn(email, 'confirm') })
    expect([confirmed.status, confirmed.json.data.received_at]).toEqual([200, at.toISOString()])
    await kit.work()
    const [row] = await test.db.prisma.privacyRequest.findMany({ where: { channel: 'form' } })
    expect(row).toMatchObject({ state: 'received', subjectKind: 'requester', accountId: null, verifiedBy: null })
    expect(await kit.adminRead(row?.id ?? '')).toMatchObject({
      channel: 'form',
      subject: 'requester',
      subject_name: 'Ada Example',
      subject_email: email,
      statement: 'Please send me my data',
    })
    expect((await status(secretIn(email, 'status'))).json.data).toMatchObject({
      kinds: ['access'],
      stage: 'in_review',
      can_withdraw: true,
      messages: [],
      copy: null,
    })
  })

  it('returns the same response for a stranger, an account, a replay and too many requests, and sends at most three emails', async () => {
    const person = await personWithPassword(test)
    const stranger = newAddress()
    const bodies: [number, unknown][] = []
    for (const email of [stranger, person.email, stranger, stranger, stranger]) {
      const { status: code, json } = await send(email, {}, '203.0.113.200')
      bodies.push([code, json])
    }
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
    await kit.work()
    expect([kit.emailsTo(stranger).length, kit.emailsTo(person.email).length]).toEqual([3, 1])
    // Forms that others send do not use up the emails of the owner of the address, who sends from another network.
    await send(stranger)
    await kit.work()
    const texts = kit.emailsTo(stranger).map(({ text }) => text)
    expect(texts).toHaveLength(4)
    for (const text of texts) expect(text).toMatch(/privacy request .*: .*, sent at \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC/)
    expect(await test.db.prisma.privacyRequest.count({ where: { accountId: person.accountId } })).toBe(0)
  })

  it('runs the same statements for every address', async () => {
    const person = await personWithPassword(test)
    const statements = async (email: string) => {
      const before = await test.db.prisma.unconfirmedRequest.count()
      await send(email)
      return (await test.db.prisma.unconfirmedRequest.count()) - before
    }
    expect([await statements(person.email), await statements(newAddress())]).toEqual([1, 1])
    await kit.work()
  })

  it('stores nothing readable, and deletes unconfirmed requests after 24 hours', async () => {
    const email = newAddress()
    await send(email, { name: 'Very Readable', statement: 'Very readable' })
    await kit.work()
    const { rows } = await test.db.pool.query('SELECT * FROM unconfirmed_requests')
    expect(JSON.stringify(rows.map((row) => ({ ...row, content: row.content?.toString('latin1') })))).not.toMatch(
      /eadable|example\.org/,
    )
    const token = secretIn(email, 'confirm')
    test.clock.advance(day)
    const late = await post('/confirm', { token })
    expect([late.status, late.json.code]).toEqual([410, 'link_spent'])
    expect(late.json.detail).toContain('expired')
    await kit.tick()
    expect(await test.db.prisma.unconfirmedRequest.count()).toBe(0)
  })

  it('rejects a used link plainly, and a link of another purpose', async () => {
    const email = newAddress()
    const { token } = await filed(email)
    const again = await post('/confirm', { token: secretIn(email, 'confirm') })
    expect([again.status, again.json.detail]).toEqual([410, expect.stringContaining('already used')])
    for (const path of ['/confirm', '/status', '/withdraw'])
      expect((await post(path, { token: 'x'.repeat(43) })).status).toBe(410)
    expect((await post('/confirm', { token })).status).toBe(410)
    expect((await post('/status', { token: secretIn(email, 'confirm') })).status).toBe(410)
    expect((await kit.use(token, 'cancel')).status).toBe(410)
  })

  it('files one request when a link is confirmed twice at once', async () => {
    const email = newAddress()
    await send(email)
    await kit.work()
    const token = secretIn(email, 'confirm')
    const codes = await Promise.all([post('/confirm', { token }), post('/confirm', { token })])
    expect(codes.map(({ status: code }) => code).sort()).toEqual([200, 410])
    await kit.work()
  })

  it('accepts but discards a form with the hidden field', async () => {
    const before = await test.db.prisma.unconfirmedRequest.count()
    const { status: code, json } = await send(newAddress(), { website: 'https://spam.example' })
    expect([code, json]).toEqual([202, (await send(newAddress())).json])
    expect(await test.db.prisma.unconfirmedRequest.count()).toBe(before + 1)
    await kit.work()
  })

  it('limits unconfirmed requests of one network and of all networks', async () => {
    await test.db.prisma.unconfirmedRequest.deleteMany()
    const codes: number[] = []
    for (let sent = 0; sent < 12; sent++) codes.push((await send(newAddress(), {}, '203.0.113.7')).status)
    expect(codes).toEqual([...Array(10).fill(202), 429, 429])
    // As many as a network may have, in the course of a day.
    await test.db.pool.query(
      `INSERT INTO unconfirmed_requests (id, address_key, network_key, created_at, expires_at)
       SELECT 'pform_' || n, 'a' || n, network_key, now(), expires_at FROM generate_series(1, 10) n,
         (SELECT network_key, expires_at FROM unconfirmed_requests LIMIT 1) AS one`,
    )
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000)
    onTestFinished(() => clock.mockRestore())
    expect((await send(newAddress(), {}, '203.0.113.7')).status).toBe(429)
    expect((await send(newAddress())).status).toBe(202)
    await test.db.pool.query(
      `INSERT INTO unconfirmed_requests (id, address_key, network_key, created_at, expires_at)
       SELECT 'pform_n' || n, 'a' || n, 'n' || n, now(), $1 FROM generate_series(1, 500) n`,
      [new Date(test.clock.now().getTime() + day)],
    )
    await test.db.pool.query(
      "UPDATE unconfirmed_requests SET network_key = 'elsewhere' WHERE network_key NOT LIKE 'n%'",
    )
    // A flood from other networks leaves one request for each network, and counts all of an IPv6 customer as one.
    expect((await send(newAddress(), {}, '2001:db8:1:1::1')).status).toBe(202)
    expect((await send(newAddress(), {}, '2001:db8:1:2::1')).status).toBe(429)
    await test.db.prisma.unconfirmedRequest.deleteMany()
    await kit.work()
  })

  it.each([
    [{ email: 'no address' }, 422],
    [{ kind: 'rectification' }, 422],
    [{ kind: 'everything' }, 422],
    [{ name: 'line\nbreak' }, 422],
    [{ statement: 'x'.repeat(4_001) }, 422],
    [{ account_id: 'usr_0000000000000000000000' }, 422],
  ])('rejects %j', async (more, code) => expect((await send(newAddress(), more)).status).toBe(code))

  it('is off by default, and answers nothing but the setting while it is off', async () => {
    await turn(false)
    expect((await test.fetch('GET', '/api/privacy/form')).json.data.is_on).toBe(false)
    expect((await send(newAddress())).status).toBe(404)
    expect((await post('/links', { email: newAddress() })).status).toBe(404)
    await turn(true)
    expect((await test.fetch('GET', '/api/privacy/form')).json.data.is_on).toBe(true)
  })
})

describe('the status page', () => {
  it('ends 30 days after the request is closed, with the texts of the admins', async () => {
    const { id, token } = await filed(newAddress(), { kind: 'erasure' })
    const answer = 'We looked everywhere and store nothing about you.'
    expect((await kit.asAdmin(id, 'answer', { note: answer })).status).toBe(200)
    await kit.work()
    const { data } = (await status(token)).json
    expect(data).toMatchObject({
      stage: 'answered',
      can_withdraw: false,
      messages: [{ event: 'answered', note: answer }],
    })
    expect(JSON.stringify(data)).not.toMatch(/preq_|usr_|rcpt_|example\.org/)
    test.clock.advance(30 * day - 60_000)
    await kit.tick()
    expect((await status(token)).status).toBe(200)
    test.clock.advance(120_000)
    await kit.tick()
    expect((await status(token)).status).toBe(410)
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: { events: true } })
    expect([row.contact, row.addressKey, row.payload, row.receiptId]).toEqual([null, null, null, null])
    expect(row.events.filter(({ note }) => note !== null)).toEqual([])
  })

  it('withdraws the request, once', async () => {
    const { id, token } = await filed(newAddress())
    expect((await post('/withdraw', { token })).json.data.stage).toBe('cancelled')
    expect((await post('/withdraw', { token })).status).toBe(409)
    expect((await kit.adminRead(id)).state).toBe('cancelled')
    await kit.work()
  })

  it('sends the links again only to an address with open requests, at most three times an hour, with one response', async () => {
    const email = newAddress()
    await filed(email)
    const before = kit.emailsTo(email).length
    const responses: unknown[] = []
    for (let asked = 0; asked < 4; asked++) {
      responses.push((await post('/links', { email })).json)
      await kit.work()
    }
    const nobody = newAddress()
    responses.push((await post('/links', { email: nobody })).json)
    await kit.work()
    expect(new Set(responses.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(kit.emailsTo(email).length - before).toBe(3)
    expect(kit.emailsTo(nobody)).toEqual([])
    expect((await status(secretIn(email, 'status'))).status).toBe(200)
  })
})

describe('an admin', () => {
  it('cannot verify or execute a request that is not connected', async () => {
    const person = await personWithPassword(test)
    const { id } = await filed(person.email, { kind: 'erasure' })
    const refused = await kit.asAdmin(id, 'verify', { note: 'seems fine' })
    expect([refused.status, refused.json.code]).toEqual([409, 'wrong_state'])
    expect(await test.db.prisma.account.count({ where: { id: person.accountId } })).toBe(1)
  })

  it('connects it to the account of the same address, whose owner then confirms it', async () => {
    const person = await personWithPassword(test)
    const { id, token } = await filed(person.email, { kind: 'erasure' })
    const found = await test.fetch('GET', `/api/admin/privacy/requests/${id}/suggestions`, { cookie: kit.admin.cookie })
    expect(found.json.data).toMatchObject({ account: { account_id: person.accountId }, participants: [] })
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(200)
    expect((await status(token)).json.data.stage).toBe('confirm_by_email')
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('received')
    expect((await kit.use(kit.linkTo(person.email, 'verify'), 'verify')).status).toBe(200)
    expect((await status(token)).json.data).toMatchObject({ stage: 'grace_period', can_withdraw: true })
    expect((await kit.asAdmin(id, 'answer', { note: 'too late' })).status).toBe(409)
    await kit.work()
  })

  it('cannot connect it to an account with another address, or twice, or as another person', async () => {
    const [person, other] = [await personWithPassword(test), await personWithPassword(test)]
    const { id } = await filed(person.email)
    expect((await kit.asAdmin(id, 'connect', { account_id: other.accountId })).status).toBe(409)
    const somebody = await signedIn(test)
    for (const verb of ['connect', 'answer'])
      expect(
        (
          await test.fetch('POST', `/api/admin/privacy/requests/${id}/${verb}`, {
            cookie: somebody.cookie,
            body: verb === 'connect' ? { account_id: person.accountId } : { note: 'x' },
          })
        ).status,
      ).toBe(403)
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(200)
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(409)
    await kit.work()
  })

  it('finds it by the complete email address of the requester only', async () => {
    const email = newAddress()
    const { id } = await filed(email)
    const found = async (q: string) => {
      const path = `/api/admin/privacy/requests?q=${encodeURIComponent(q)}`
      const { data } = (await test.fetch('GET', path, { cookie: kit.admin.cookie })).json
      return data.map((row: { id: string }) => row.id)
    }
    expect(await found(email.toUpperCase())).toEqual([id])
    expect(await found(email.slice(0, -1))).toEqual([])
  })

  it('sees that an unconnected request is overdue; it does not expire', async () => {
    const { id } = await filed(newAddress())
    test.clock.advance(40 * day)
    await kit.tick()
    expect(await kit.adminRead(id)).toMatchObject({ state: 'received', due: 'overdue' })
  })
  it('connects it to a participant, verifies the identity with evidence, and hands the copy over', async () => {
    const project = await madeProject(test)
    const email = newAddress()
    const made = await test.fetch('POST', `${project.path}/participants`, {
      token: project.agent.token,
      body: { external_id: 'ada', name: 'Ada', email: email.toUpperCase() },
    })
    expect([200, 201]).toContain(made.status)
    const participant = await test.db.prisma.projectParticipant.findFirstOrThrow({ where: { projectId: project.id } })
    const { id, token } = await filed(email)
    const found = await test.fetch('GET', `/api/admin/privacy/requests/${id}/suggestions`, { cookie: kit.admin.cookie })
    expect(found.json.data).toEqual({
      account: null,
      participants: [
        { project_id: project.id, project_name: 'A project', participant_id: participant.id, name: 'Ada' },
      ],
    })
    const body = { project_id: project.id, participant_id: participant.id }
    expect((await kit.asAdmin(id, 'connect', body)).status).toBe(200)
    expect((await status(token)).json.data.stage).toBe('verifying_identity')
    test.clock.advance(40 * day)
    await kit.tick()
    expect((await kit.adminRead(id)).state).toBe('received')
    expect((await kit.asAdmin(id, 'verify', { note: 'Called back' })).status).toBe(200)
    await kit.work()
    // The link from before the verification shows only the status.
    expect((await status(token)).json.data).toMatchObject({ stage: 'completed', copy: 'email', messages: [] })
    expect(await copied(token)).toMatchObject({ status: 409, code: 'wrong_state' })
    expect(kit.emailsTo(email).at(-1)?.text).toContain('Anyone with the link below can download it too')
    const newest = secretIn(email, 'status')
    expect((await status(newest)).json.data.copy).toBe('download')
    const copy = await copied(newest)
    expect([copy.status, copy.headers.get('cache-control'), copy.headers.get('content-disposition')]).toEqual([
      200,
      expect.stringContaining('no-store'),
      expect.stringContaining('attachment'),
    ])
    const [head, ...lines] = copy.text.trim().split('\n')
    expect(JSON.parse(head ?? '')).toMatchObject({ participant_id: participant.id, scope: 'all' })
    expect(lines.join('\n')).toContain('"Ada"')
    const [entry] = await test.db.prisma.auditEntry.findMany({ where: { action: 'export', resourceId: id } })
    expect(entry?.details).toMatchObject({ participant_id: participant.id, scope: 'all' })
    test.clock.advance(30 * day)
    expect(await copied(newest)).toMatchObject({ status: expect.toBeOneOf([409, 410]) })
  })

  it('downloads no copy with a link of another purpose or request, before the request is verified, or after the erasure', async () => {
    const project = await madeProject(test)
    const email = newAddress()
    await test.fetch('POST', `${project.path}/participants`, {
      token: project.agent.token,
      body: { external_id: 'eve', name: 'Eve', email },
    })
    const participant = await test.db.prisma.projectParticipant.findFirstOrThrow({ where: { projectId: project.id } })
    const { id, token } = await filed(email, { kind: 'portability' })
    const other = await filed(newAddress())
    for (const wrong of [token, other.token]) expect((await copied(wrong)).status).toBe(409)
    for (const wrong of ['x'.repeat(43), secretIn(email, 'confirm')]) expect((await copied(wrong)).status).toBe(410)
    const body = { project_id: project.id, participant_id: participant.id }
    const confirmed = (emailConfirmed: boolean) =>
      test.db.prisma.projectParticipant.update({ where: { id: participant.id }, data: { emailConfirmed } })
    await confirmed(false)
    const refused = await kit.asAdmin(id, 'connect', body)
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
    await confirmed(true)
    expect((await kit.asAdmin(id, 'connect', body)).status).toBe(200)
    await kit.work()
    expect((await copied(secretIn(email, 'status'))).status).toBe(409)
    expect((await kit.asAdmin(id, 'verify', { note: 'Called back' })).status).toBe(200)
    await kit.work()
    const newest = secretIn(email, 'status')
    const copy = await copied(newest)
    expect([copy.status, JSON.parse(copy.text.split('\n')[0] ?? '').scope]).toEqual([200, 'provided'])
    expect(copy.text).not.toContain(other.id)
    const from = newNetwork()
    const codes: number[] = []
    for (let tries = 0; tries < 11; tries++) codes.push((await copied(newest, from)).status)
    expect(codes).toEqual([...Array(10).fill(200), 429])
    await test.db.prisma.projectParticipant.delete({ where: { id: participant.id } })
    expect((await copied(newest)).status).toBe(409)
  })

  it('cannot connect it while the account has an open request of the same kind, or is unknown', async () => {
    const person = await personWithPassword(test)
    expect((await kit.file(person.cookie, { kinds: ['access'] })).status).toBe(201)
    const { id } = await filed(person.email)
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(409)
    expect((await kit.asAdmin(id, 'connect', { account_id: 'usr_0000000000000000000000' })).status).toBe(404)
    expect((await kit.asAdmin(id, 'connect', {})).status).toBe(422)
    expect((await kit.adminRead(id)).account_id).toBe(null)
  })

  it('disconnects it until the owner confirms it, and the link that was sent no longer works', async () => {
    const person = await personWithPassword(test)
    const { id, token } = await filed(person.email, { kind: 'erasure', name: 'Entered Name' })
    const connect = () => kit.asAdmin(id, 'connect', { account_id: person.accountId })
    expect((await kit.asAdmin(id, 'disconnect')).status).toBe(409)
    expect((await connect()).status).toBe(200)
    await kit.work()
    const link = kit.linkTo(person.email, 'verify')
    expect((await kit.asAdmin(id, 'disconnect')).status).toBe(200)
    expect(await kit.adminRead(id)).toMatchObject({
      subject: 'requester',
      account_id: null,
      subject_name: 'Entered Name',
      subject_email: person.email,
    })
    expect((await kit.use(link, 'verify')).status).toBe(410)
    expect((await status(token)).json.data.stage).toBe('in_review')
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    expect([row.state, row.accountId, row.receiptId]).toEqual(['received', null, null])
    expect((await kit.asAdmin(id, 'verify', { note: 'seems fine' })).status).toBe(409)
    // Requests and links of the account no longer find it.
    expect((await test.fetch('GET', `/api/privacy/requests/${id}`, { cookie: person.cookie })).status).toBe(404)
    expect((await connect()).status).toBe(200)
    await kit.work()
    expect((await kit.use(kit.linkTo(person.email, 'verify'), 'verify')).status).toBe(200)
    const late = await kit.asAdmin(id, 'disconnect')
    expect([late.status, late.json.code]).toEqual([409, 'wrong_state'])
    await kit.work()
  })

  it('sends no confirmation link for a request that was disconnected before its email left', async () => {
    const person = await personWithPassword(test)
    const { id } = await filed(person.email)
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(200)
    expect((await kit.asAdmin(id, 'disconnect')).status).toBe(200)
    const before = kit.emailsTo(person.email).length
    await kit.work()
    expect(kit.emailsTo(person.email).length).toBe(before)
    expect(await test.db.prisma.privacyLink.count({ where: { requestId: id, purpose: 'verify' } })).toBe(0)
  })

  it('cannot disconnect a request that the owner of the account added to, that another channel filed, or without a session', async () => {
    const person = await personWithPassword(test)
    const { id } = await filed(person.email)
    expect((await kit.asAdmin(id, 'connect', { account_id: person.accountId })).status).toBe(200)
    const joined = await kit.file(person.cookie, { kinds: ['access'], statement: 'Also my messages' })
    expect([joined.status, joined.json.data?.id ?? joined.json.joined?.[0]?.request_id]).toEqual([200, id])
    expect((await kit.asAdmin(id, 'disconnect')).status).toBe(409)
    const somebody = await signedIn(test)
    const path = `/api/admin/privacy/requests/${id}/disconnect`
    expect((await test.fetch('POST', path, { cookie: somebody.cookie })).status).toBe(403)
    expect((await test.fetch('POST', path)).status).toBe(401)
    const other = await personWithPassword(test)
    const own = await kit.file(other.cookie, { kinds: ['access'] })
    expect((await kit.asAdmin(own.json.data.id, 'disconnect')).status).toBe(409)
    expect((await kit.asAdmin('preq_0000000000000000000000', 'disconnect')).status).toBe(404)
    await kit.work()
  })

  it('sees neither addresses nor texts of requests in the audit log and in jobs', async () => {
    const email = newAddress()
    await send(email, { name: 'Auditee Example', statement: 'Words of the auditee' })
    const jobs = await test.db.pool.query('SELECT payload::text FROM graphile_worker._private_jobs')
    await kit.work()
    const audit = await test.db.pool.query('SELECT details::text, resource_id FROM audit_entries')
    expect(audit.rows.length).toBeGreaterThan(0)
    expect(JSON.stringify([jobs.rows, audit.rows])).not.toMatch(/example\.org|uditee/)
  })

  it('needs a recent password to answer', async () => {
    const { id } = await filed(newAddress())
    const other = await signedIn(test, 'admin')
    const act = () =>
      test.fetch('POST', `/api/admin/privacy/requests/${id}/answer`, { cookie: other.cookie, body: { note: 'x' } })
    test.clock.advance(3_600_000)
    expect([(await act()).status, (await act()).json.code]).toEqual([403, 'step_up_required'])
    expect((await kit.adminRead(id)).state).toBe('received')
  })
})

describe('the erasure of an account', () => {
  it('erases requests from the form with its address, and they are exported before', async () => {
    const person = await personWithPassword(test)
    const { id } = await filed(person.email, { name: 'Somebody', statement: 'My words' })
    await send(person.email)
    await kit.work()
    const unconfirmed = await test.db.prisma.unconfirmedRequest.findFirstOrThrow({ orderBy: { createdAt: 'desc' } })
    const subject = { account: person.accountId, agents: [] }
    const countOf = async (source: string) =>
      (await test.app.dataSources.find(({ name }) => name === source)?.inventory(subject, test.clock.now()))?.count
    const { addressKey } = unconfirmed
    const forms = await test.db.prisma.unconfirmedRequest.count({ where: { addressKey } })
    expect(await countOf('privacy.requests')).toBe(1)
    expect(await countOf('privacy.forms')).toBe(forms)
    const parts = test.app.personExporters.filter(({ tables }) =>
      tables.some((table) => /privacy_requests|unconfirmed/.test(table)),
    )
    for (const { part, pages } of parts) {
      const lines: string[] = []
      for await (const page of pages(person.accountId, {
        id: person.accountId,
        basis: 'all',
        until: test.clock.now(),
      } as never))
        lines.push(page.lines)
      expect(lines.join(''), part).toContain(part === 'privacy_requests' ? 'My words' : 'pform_')
    }
    const filedErasure = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
    expect(filedErasure.status).toBe(201)
    await kit.tick()
    await kit.work()
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    expect(row).toMatchObject({ state: 'cancelled', contact: null, payload: null, addressKey: null })
    expect(await test.db.prisma.privacyLink.count({ where: { requestId: id } })).toBe(0)
    const { stores } = (await test.fetch('GET', `/v1/receipts/${filedErasure.json.data.receipt_id}`)).json
    expect(stores.find(({ holder }: { holder: string }) => holder === 'privacy.forms').deleted).toBe(forms)
    expect(await test.db.prisma.unconfirmedRequest.count({ where: { addressKey } })).toBe(0)
  })

  it('erases forms among the items of requests, where former plans listed them', async () => {
    const person = await personWithPassword(test)
    await send(person.email)
    const { id } = await test.db.prisma.unconfirmedRequest.findFirstOrThrow({ orderBy: { createdAt: 'desc' } })
    const [requests, forms] = ['privacy.requests', 'privacy.forms'].map((source) =>
      test.app.dataSources.find(({ name }) => name === source),
    )
    const scope = { subject: { account: person.accountId, agents: [] } }
    const residue = () => forms?.residue(scope, [id], test.clock.now())
    expect(await residue()).toBe(1)
    await test.db.transaction(async (tx) => void (await requests?.erase(scope, [id], tx)))
    expect(await residue()).toBe(0)
  })
})
