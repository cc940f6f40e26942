import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deriveKey, sealedPurposes, unseal } from '#lib/config/secret.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { giveKeyring, seemingEnvelope, seemingKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { listEntries } from './contract.ts'
import { maxEntries } from './rules.ts'

const hour = 3_600_000
const day = 24 * hour
let app: TestApp
let person: Person
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
})
afterAll(() => app?.close())

const mine = (owner: Person | null = person): Promise<Issued> =>
  issuedAgent(app, ['read', 'write'], { tier: 'enterprise', ...(owner && { owner }) })
const at = (id: string, path = '') => `/v1/agents/${id}${path}`
const ask = (method: string, path: string, by: TestRequest) => app.fetch(method, path, by)
const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code]
const put = (agent: Issued, body: object, by: TestRequest = { cookie: person.cookie }) =>
  ask('PUT', at(agent.id, '/keyring'), { ...by, body })
const write = (agent: Issued, body: object, by: TestRequest = { token: agent.token }) =>
  ask('POST', at(agent.id, '/grimoire'), { ...by, body })
const insight = { scope: 'clade', kind: 'insight', content: { claim: 'calm before the fixing' }, confidence: 0.7 }
const sealed = (keyId: string, plain?: number) => ({
  scope: 'private',
  id: newId('ent'),
  kind: 'episode',
  envelope: seemingEnvelope(keyId, plain),
})
const rows = async (agentId: string) => app.db.prisma.grimoireEntry.count({ where: { agentId } })
const run = async (name: string) => {
  const job = app.app.jobs.find((one) => one.name === name)
  if (!job) throw new Error(`no job ${name}`)
  await job.execute(app.app.pipeline, {})
}
/** An agent with a keyring. */
async function keyed(owner: Person | null = person): Promise<Issued & { keyring: ReturnType<typeof seemingKeyring> }> {
  const agent = await mine(owner)
  return { ...agent, keyring: await giveKeyring(app, agent.id) }
}

describe('a keyring', () => {
  test('is stored once, and updated only with its current revision', async () => {
    const agent = await mine()
    const keyring = seemingKeyring()
    const first = await put(agent, { keyring })
    expect([first.status, first.json.data.revision], first.text).toEqual([201, 1])
    const read = await ask('GET', at(agent.id, '/keyring'), { cookie: person.cookie })
    expect(read.json.data).toMatchObject({ keyring, revision: 1 })
    const rewrapped = { ...seemingKeyring(keyring.key_id), public_key: keyring.public_key }
    expect(refusal(await put(agent, { keyring: rewrapped }))).toEqual([409, 'conflict'])
    expect(refusal(await put(agent, { keyring: rewrapped, revision: 2 }))).toEqual([409, 'conflict'])
    expect(refusal(await put(agent, { keyring: seemingKeyring(keyring.key_id), revision: 1 }))).toEqual([
      409,
      'conflict',
    ])
    const changed = await put(agent, { keyring: rewrapped, revision: 1 })
    expect([changed.status, changed.json.data.revision]).toEqual([200, 2])
    const after = await ask('GET', at(agent.id, '/keyring'), { token: agent.token })
    expect(after.json.data.keyring).toEqual(rewrapped)
  })

  test('is replaced only while nothing is sealed to it', async () => {
    const agent = await keyed()
    const other = seemingKeyring()
    expect(refusal(await put(agent, { keyring: other, revision: 1 }))).toEqual([409, 'conflict'])
    expect((await put(agent, { keyring: other, revision: 1, replace: true })).status).toBe(200)
    const entry = sealed(other.key_id)
    expect((await write(agent, entry)).status).toBe(201)
    const third = { keyring: seemingKeyring(), revision: 1, replace: true }
    expect(refusal(await put(agent, third))).toEqual([409, 'conflict'])
    await ask('DELETE', at(agent.id, `/grimoire/${entry.id}`), { token: agent.token })
    expect((await put(agent, third)).status).toBe(200)
  })

  test('is rejected with weak or excessive costs, unknown properties or a foreign key id', async () => {
    const agent = await mine()
    const good = seemingKeyring()
    const bad = [
      { ...good, kdf: { ...good.kdf, m: 32_768 } },
      { ...good, kdf: { ...good.kdf, m: 2_097_152 } },
      { ...good, kdf: { ...good.kdf, t: 2 } },
      { ...good, kdf: { ...good.kdf, t: 17 } },
      { ...good, kdf: { ...good.kdf, name: 'argon2d' } },
      { ...good, passphrase: 'a passphrase in the clear' },
      { ...good, passphrase_text: 'a passphrase in the clear' },
      { ...good, public_key: 'short' },
      { ...good, key_id: 'key_1' },
    ]
    for (const keyring of bad) expect(refusal(await put(agent, { keyring }))).toEqual([422, 'invalid'])
    const other = await keyed()
    expect(refusal(await put(agent, { keyring: other.keyring }))).toEqual([409, 'conflict'])
    expect(refusal(await ask('GET', at(agent.id, '/keyring'), { token: agent.token }))).toEqual([404, 'not_found'])
  })
})

describe('the keyring of an agent that has an owner', () => {
  test('is neither stored nor changed by a token of the agent, nor by a session whose password was not entered recently', async () => {
    const [empty, agent] = [await mine(), await keyed()]
    const { keyring } = agent
    const rewrapped = { ...seemingKeyring(keyring.key_id), public_key: keyring.public_key }
    const stored = async () => (await ask('GET', at(agent.id, '/keyring'), { cookie: person.cookie })).json.data.keyring
    for (const [one, body] of [
      [empty, { keyring: seemingKeyring() }],
      [agent, { keyring: rewrapped, revision: 1 }],
      [agent, { keyring: seemingKeyring(), revision: 1, replace: true }],
    ] as const)
      expect(refusal(await put(one, body, { token: one.token }))).toEqual([403, 'forbidden'])
    await app.db.prisma.session.updateMany({ where: { accountId: person.accountId }, data: { passwordAt: null } })
    expect(refusal(await put(agent, { keyring: rewrapped, revision: 1 }))).toEqual([403, 'step_up_required'])
    expect([await stored(), await app.db.prisma.keyring.count({ where: { agentId: empty.id } })]).toEqual([keyring, 0])
    await passwordEntered(app, person)
    expect((await put(agent, { keyring: rewrapped, revision: 1 })).status).toBe(200)
  })

  test('is stored by the token of an agent without an owner', async () => {
    const agent = await mine(null)
    const { status, text } = await put(agent, { keyring: seemingKeyring() }, { token: agent.token })
    expect(status, text).toBe(201)
  })
})

describe('an entry', () => {
  test('an entry with the scope private is an envelope and is returned unchanged', async () => {
    const agent = await keyed()
    const entry = sealed(agent.keyring.key_id, 1024)
    const response = await write(agent, entry)
    expect(response.status, response.text).toBe(201)
    const read = await ask('GET', at(agent.id, `/grimoire/${entry.id}`), { cookie: person.cookie })
    expect(read.json.data).toMatchObject({ id: entry.id, scope: 'private', envelope: entry.envelope, entry: null })
    expect(refusal(await write(agent, entry))).toEqual([409, 'id_in_use'])
    const envelope = seemingEnvelope(agent.keyring.key_id)
    const path = at(agent.id, `/grimoire/${entry.id}`)
    expect(
      (await ask('PUT', path, { token: agent.token, body: { scope: 'private', revision: 1, envelope } })).status,
    ).toBe(200)
    expect((await ask('GET', path, { token: agent.token })).json.data.envelope).toEqual(envelope)
    expect(
      refusal(await ask('PUT', path, { token: agent.token, body: { ...insight, kind: undefined, revision: 2 } })),
    ).toEqual([409, 'conflict'])
  })

  test('is not overwritten when it has changed since it was read: of concurrent updates one succeeds', async () => {
    const agent = await keyed()
    const entry = sealed(agent.keyring.key_id)
    await write(agent, entry)
    const path = at(agent.id, `/grimoire/${entry.id}`)
    const put = (revision: number) =>
      ask('PUT', path, {
        token: agent.token,
        body: { scope: 'private', revision, envelope: seemingEnvelope(agent.keyring.key_id) },
      })
    const responses = await Promise.all(Array.from({ length: 8 }, () => put(1)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 409)])
    expect(responses.find(({ status }) => status === 200)?.json.data.revision).toBe(2)
    const { envelope, revision } = (await ask('GET', path, { token: agent.token })).json.data
    expect(revision).toBe(2)
    const late = await put(1)
    expect([...refusal(late), late.json.detail]).toEqual([
      409,
      'conflict',
      expect.stringContaining('now has revision 2'),
    ])
    expect((await ask('GET', path, { token: agent.token })).json.data.envelope).toEqual(envelope)
    expect((await put(2)).json.data.revision).toBe(3)
    expect((await put(0)).status).toBe(422)
  })

  test('returns the stored revision when the same update is repeated after a lost response', async () => {
    const agent = await keyed()
    const entry = sealed(agent.keyring.key_id)
    await write(agent, entry)
    const clade = (await write(agent, insight)).json.data.id
    const { kind: _, ...content } = insight
    const changes = [
      [entry.id, { scope: 'private', envelope: seemingEnvelope(agent.keyring.key_id) }],
      [clade, { ...content, confidence: 0.91 }],
    ] as const
    for (const [id, body] of changes) {
      const put = (revision: number, more: object = {}) =>
        ask('PUT', at(agent.id, `/grimoire/${id}`), { token: agent.token, body: { ...body, ...more, revision } })
      const first = await put(1)
      expect([first.status, first.json.data.revision]).toEqual([200, 2])
      app.clock.advance(1_000)
      const repeated = await put(1)
      expect([repeated.status, repeated.json.data]).toEqual([200, first.json.data])
      const until = new Date(app.clock.now().getTime() + 86_400_000).toISOString()
      expect((await put(1, { valid_until: until })).status).toBe(409)
      expect((await put(2)).json.data.revision).toBe(3)
      expect((await put(1)).status).toBe(409)
    }
  })

  test('an entry with the scope private is rejected when its text is readable', async () => {
    const agent = await keyed()
    const key = agent.keyring.key_id
    const good = sealed(key)
    const text = Buffer.from('The plan: buy on Monday, sell on Friday. '.padEnd(272, '.')).toString('base64url')
    const bad = [
      { ...good, envelope: { ...good.envelope, ciphertext: text } },
      { ...good, envelope: { ...good.envelope, ciphertext: 'The plan is simple' } },
      { ...good, envelope: { ...good.envelope, ciphertext: seemingEnvelope(key, 255).ciphertext } },
      { ...good, envelope: { ...good.envelope, ciphertext: `${good.envelope.ciphertext}=` } },
      { ...good, envelope: { ...good.envelope, nonce: 'AAAA' } },
      { ...good, envelope: { ...good.envelope, note: 'plain' } },
      { ...good, envelope: 'plain' },
      { ...good, envelope: undefined, content: 'plain' },
      { ...good, content: 'plain' },
      { ...good, tags: ['plain'] },
      { ...good, envelope: seemingEnvelope(newId('key')) },
      { ...good, envelope: seemingEnvelope(key, 65_536 + 256) },
      { ...insight, scope: 'public' },
      { ...insight, kind: 'episode' },
      { ...insight, confidence: 1.1 },
      { ...good, valid_until: '2020-01-01T00:00:00Z' },
    ]
    for (const body of bad) {
      const response = await write(agent, body)
      expect(refusal(response), JSON.stringify(body).slice(0, 200)).toEqual([422, 'invalid'])
      expect(response.text).not.toContain('plain.')
    }
    expect((await write(agent, { ...insight, scope: 'public' })).json.issues[0].message).toContain('performance card')
    expect(await rows(agent.id)).toBe(0)
    expect((await write(agent, sealed(key, 65_536))).status).toBe(201)
    const keyless = await mine()
    expect(refusal(await write(keyless, sealed(newId('key'))))).toEqual([409, 'conflict'])
  })

  test('an entry with the scope clade is sealed at rest, readable through the API, and limited in size', async () => {
    const agent = await mine()
    const response = await write(agent, { ...insight, tags: ['fixing'], parents: ['ent_1'], provenance: { units: 2 } })
    expect(response.status, response.text).toBe(201)
    expect(response.text).not.toContain('fixing')
    const { id } = response.json.data
    const stored = await app.db.prisma.grimoireEntry.findUniqueOrThrow({ where: { id } })
    expect(Buffer.from(stored.sealed ?? []).includes('fixing')).toBe(false)
    const key = deriveKey(app.app.env.KP_SECRET ?? '', sealedPurposes.grimoire)
    expect(unseal(key, stored.sealed ?? Buffer.alloc(0), id).toString()).toContain('calm before the fixing')
    const read = await ask('GET', at(agent.id, `/grimoire/${id}`), { cookie: person.cookie })
    expect(read.json.data.entry).toMatchObject({ content: insight.content, confidence: 0.7, tags: ['fixing'] })
    expect(refusal(await write(agent, { ...insight, content: 'x'.repeat(70_000) }))).toEqual([413, 'too_large'])
  })

  test('returns 404 to strangers, other tenants, admins and revoked tokens', async () => {
    const agent = await keyed()
    const entry = sealed(agent.keyring.key_id)
    await write(agent, entry)
    const stranger = await keyed(await signedIn(app))
    const sibling = await mine()
    const admin = await signedIn(app, 'admin')
    const colleague = await signedIn(app, 'person', person.organisationId)
    const path = at(agent.id, `/grimoire/${entry.id}`)
    const bodies = { scope: 'private', revision: 1, envelope: seemingEnvelope(stranger.keyring.key_id) }
    for (const by of [
      { token: stranger.token },
      { token: sibling.token },
      { cookie: admin.cookie },
      { cookie: colleague.cookie },
    ]) {
      for (const [method, where, body] of [
        ['GET', at(agent.id, '/keyring'), undefined],
        ['PUT', at(agent.id, '/keyring'), { keyring: seemingKeyring(), revision: 1, replace: true }],
        ['GET', at(agent.id, '/grimoire'), undefined],
        ['POST', at(agent.id, '/grimoire'), insight],
        ['GET', path, undefined],
        ['PUT', path, bodies],
        ['DELETE', path, undefined],
      ] as const)
        expect(refusal(await ask(method, where, { ...by, body })), `${method} ${where}`).toEqual([404, 'not_found'])
    }
    // Another agent's entry under the agent's own path.
    const own = at(stranger.id, `/grimoire/${entry.id}`)
    expect(refusal(await ask('GET', own, { token: stranger.token }))).toEqual([404, 'not_found'])
    expect(refusal(await ask('PUT', own, { token: stranger.token, body: bodies }))).toEqual([404, 'not_found'])
    expect(refusal(await ask('DELETE', own, { token: stranger.token }))).toEqual([404, 'not_found'])
    expect(refusal(await write(stranger, { ...sealed(stranger.keyring.key_id), id: entry.id }))).toEqual([
      409,
      'id_in_use',
    ])
    expect((await ask('GET', path, {})).status).toBe(401)
    const reader = await issuedAgent(app, ['read'])
    expect(refusal(await write(reader, insight))).toEqual([403, 'scope_too_small'])
    const [token] = await app.db.prisma.token.findMany({ where: { agentId: agent.id } })
    await ask('DELETE', `/v1/auth/tokens/${token?.id}`, { cookie: person.cookie })
    expect((await write(agent, insight)).status).toBe(401)
    expect(await rows(agent.id)).toBe(1)
  })

  test('is written once per Idempotency-Key, also concurrently, and its idempotency record has no content', async () => {
    const agent = await mine()
    const headers = { 'Idempotency-Key': newId('idem') }
    const responses = await Promise.all([1, 2].map(() => write(agent, insight, { token: agent.token, headers })))
    expect(new Set(responses.map(({ json }) => json.data.id)).size).toBe(1)
    expect(await rows(agent.id)).toBe(1)
    const { rows: retained } = await app.db.pool.query<{ body: unknown }>('SELECT * FROM idempotency_records')
    expect(JSON.stringify(retained)).not.toContain('fixing')
  })

  test('is rejected beyond the limit of one agent', async () => {
    const agent = await mine()
    await app.db.pool.query(
      `INSERT INTO grimoire_entries (id, agent_id, kind, scope, created_at, updated_at)
       SELECT 'ent_' || lpad(n::text, 22, '0'), $1, 'insight', 'clade', $2, $2 FROM generate_series(1, $3) AS n`,
      [agent.id, app.clock.now(), maxEntries - 1],
    )
    const responses = await Promise.all([1, 2, 3].map(() => write(agent, insight)))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    await app.db.pool.query('DELETE FROM grimoire_entries WHERE agent_id = $1', [agent.id])
  })

  test('is not written for a paused or retired agent, and can still be deleted', async () => {
    const agent = await keyed()
    const entry = sealed(agent.keyring.key_id)
    await write(agent, entry)
    const status = (body: object) => ask('PUT', at(agent.id, '/status'), { cookie: person.cookie, body })
    expect((await status({ status: 'paused' })).status).toBe(200)
    expect(refusal(await write(agent, insight))).toEqual([403, 'paused'])
    expect(refusal(await write(agent, insight, { cookie: person.cookie }))).toEqual([403, 'paused'])
    expect((await ask('GET', at(agent.id, '/grimoire'), { token: agent.token })).json.total).toBe(1)
    expect((await status({ status: 'dead', confirm: agent.id })).status).toBe(200)
    expect(refusal(await ask('GET', at(agent.id, '/grimoire'), { token: agent.token }))).toEqual([403, 'dead'])
    expect(refusal(await write(agent, insight, { cookie: person.cookie }))).toEqual([403, 'dead'])
    expect((await ask('DELETE', at(agent.id, `/grimoire/${entry.id}`), { cookie: person.cookie })).status).toBe(204)
  })

  test('expires at its own time or after the retention days: readers get 404 immediately, and the job deletes it', async () => {
    const agent = await mine()
    const until = new Date(app.clock.now().getTime() + 2 * hour).toISOString()
    const short = await write(agent, { ...insight, valid_until: until })
    const long = await write(agent, insight)
    expect([short.status, long.status]).toEqual([201, 201])
    const total = async () => (await ask('GET', at(agent.id, '/grimoire'), { token: agent.token })).json.total
    expect(await total()).toBe(2)
    app.clock.advance(2 * hour)
    expect([await total(), await rows(agent.id)]).toEqual([1, 2])
    const deleted = await ask('GET', at(agent.id, `/grimoire/${short.json.data.id}`), { token: agent.token })
    expect(refusal(deleted)).toEqual([404, 'not_found'])
    await run('grimoire.purge-ended')
    expect(await rows(agent.id)).toBe(1)
    const settings = { cookie: person.cookie, body: { grimoire_days: 3 } }
    const set = await ask('PATCH', at(agent.id, '/settings'), settings)
    expect(set.status, set.text).toBe(200)
    app.clock.advance(2 * day)
    await run('grimoire.purge-ended')
    expect([await total(), await rows(agent.id)]).toEqual([1, 1])
    app.clock.advance(day)
    expect(await total()).toBe(0)
    await run('grimoire.purge-ended')
    expect(await rows(agent.id)).toBe(0)
    const { rows: entries } = await app.db.pool.query<{ details: object }>(
      `SELECT details FROM audit_entries WHERE resource_id = 'ended' AND resource_type = 'grimoire_entry'`,
    )
    expect(entries.map(({ details }) => details)).toEqual([{ count: 1 }, { count: 1 }])
  })

  test('is listed in pages by kind and scope, and pages of large entries end early', async () => {
    const agent = await keyed()
    for (const plain of Array.from({ length: 22 }, () => 65_536)) {
      app.clock.advance(10)
      expect((await write(agent, sealed(agent.keyring.key_id, plain))).status).toBe(201)
    }
    await write(agent, { ...insight, kind: 'warning' })
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const response = await ask('GET', at(agent.id, `/grimoire?limit=100${cursor && `&cursor=${cursor}`}`), {
        token: agent.token,
      })
      const shown = listEntries.output.parse(response.json)
      expect(response.text.length).toBeLessThan(1_300_000)
      seen.push(...shown.data.map(({ id }) => id))
      cursor = shown.next_cursor
    }
    expect([seen.length, new Set(seen).size, pages > 1]).toEqual([23, 23, true])
    const only = async (query: string) =>
      (await ask('GET', at(agent.id, `/grimoire?${query}`), { token: agent.token })).json.total
    expect([await only('kind=warning'), await only('scope=private'), await only('scope=clade&kind=episode')]).toEqual([
      1, 22, 0,
    ])
    expect((await ask('GET', at(agent.id, '/grimoire?cursor=x'), { token: agent.token })).status).toBe(422)
  })
})
