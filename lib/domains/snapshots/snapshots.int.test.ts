import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSealed } from '#lib/client/sealing/hpke.ts'
import { type Keyring, keyPairOf, type MasterKey, newKeyring } from '#lib/client/sealing/keyring.ts'
import { readSealedSnapshot } from '#lib/client/sealing/snapshot.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring, seemingEnvelope } from '#lib/testing/keyrings.ts'
import { furtherToken, type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { maxInHour, maxInsurances, maxOnDemand } from './rules.ts'

const hour = 3_600_000
const day = 24 * hour
const privateKey = `0x${'4c0883a69102937d6231471b5dbb6204fe512961708279feb1be6ae5538da033'}`
/** A web token of no service: anyone can write its header and body. */
const webToken = [{ alg: 'none' }, { sub: 'nobody', iat: 1 }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.')
let app: TestApp
let person: Person
/** The point where an erasure crashes, once. */
let crashAt: string | undefined
const interrupt = (point: string): void => {
  if (point !== crashAt) return
  crashAt = undefined
  throw new Error(point)
}
let own: { keyring: Keyring; masterKey: MasterKey }
beforeAll(async () => {
  app = await testApp({}, undefined, { interrupt })
  person = await signedIn(app)
  own = await newKeyring('four horses under a walnut tree')
})
afterAll(() => app?.close())

const at = (id: string, path = '') => `/v1/agents/${id}${path}`
const ask = (method: string, path: string, by: TestRequest) => app.fetch(method, path, by)
const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code]
const mine = (owner: Person | null = person): Promise<Issued> =>
  issuedAgent(app, ['read', 'write'], { tier: 'enterprise', ...(owner && { owner }) })
const run = async (name: string, payload: unknown = {}) => {
  const job = app.app.jobs.find((one) => one.name === name)
  if (!job) throw new Error(`no job ${name}`)
  await job.execute(app.app.pipeline, payload)
}
async function keyed(owner: Person | null = person): Promise<Issued> {
  const agent = await mine(owner)
  await giveKeyring(app, agent.id)
  return agent
}
const order = (agent: Issued, by: TestRequest = { token: agent.token }) => ask('POST', at(agent.id, '/snapshots'), by)
/** Orders a snapshot and makes it. */
async function made(agent: Issued): Promise<string> {
  const response = await order(agent)
  expect(response.status, response.text).toBe(202)
  await run('snapshots.make', { id: response.json.data.id })
  return response.json.data.id
}
const read = (agent: Issued, id: string, path = '', by: TestRequest = { token: agent.token }) =>
  ask('GET', at(agent.id, `/snapshots/${id}${path}`), by)
async function linked(agent: Issued, id: string): Promise<string> {
  const response = await ask('POST', at(agent.id, `/snapshots/${id}/link`), { token: agent.token })
  expect(response.status, response.text).toBe(201)
  return new URL(response.json.data.url).pathname
}
const state = (
  agent: Issued,
  body: string | Uint8Array,
  type = 'application/json',
  by: TestRequest = { token: agent.token },
) => ask('PUT', at(agent.id, '/state'), { ...by, body, headers: { 'Content-Type': type } })
const removed = async (agent: Issued, id: string) => {
  const { status, json } = await ask('DELETE', at(agent.id, `/snapshots/${id}`), { token: agent.token })
  return [status, json.data.key_destroyed]
}
const keyFile = (id: string) => join(app.dataDir, 'snapshot-keys', id)
const rowOf = (id: string) => app.db.prisma.snapshot.findUnique({ where: { id } })
/** Replaces the key file with a folder, so that deleting it fails. Returns a function that restores the file. */
function obstructed(id: string): () => void {
  const aside = `${keyFile(id)}-aside`
  renameSync(keyFile(id), aside)
  mkdirSync(keyFile(id))
  return () => {
    rmSync(keyFile(id), { recursive: true })
    renameSync(aside, keyFile(id))
  }
}
const isDeleted = async (id: string, objectKey: string) => [
  await rowOf(id),
  existsSync(keyFile(id)),
  await app.app.stored.objects.versions(objectKey),
]
const deleted = [null, false, []]

describe('an on-demand snapshot', () => {
  test("contains all data of the agent, opens only with its owner's keys and leaves no trace of them", async () => {
    const agent = await mine()
    await giveKeyring(app, agent.id, own.keyring)
    const answer = (path: string, body: object) => ask('POST', at(agent.id, path), { token: agent.token, body })
    expect((await answer('/documents', { kind: 'playbook', title: 'Fixing', body: 'Wait for it.\n' })).status).toBe(201)
    const entry = { scope: 'private', id: newId('ent'), kind: 'episode', envelope: seemingEnvelope(own.keyring.key_id) }
    expect((await answer('/grimoire', entry)).status).toBe(201)
    // With equal times, the order would depend on random ids.
    app.clock.advance(1)
    const shared = { scope: 'clade', kind: 'insight', content: { claim: 'calm' }, confidence: 0.7 }
    expect((await answer('/grimoire', shared)).status).toBe(201)
    const uploaded = await state(agent, JSON.stringify({ step: 3, wallet: { private_key: privateKey } }))
    expect([uploaded.status, uploaded.json.data.bytes > 0], uploaded.text).toEqual([200, true])

    const id = await made(agent)
    const view = (await read(agent, id)).json.data
    expect(view).toMatchObject({ id, agent_id: agent.id, kind: 'on_demand', state: 'ready', failure: null })
    expect(Date.parse(view.expires_at) - Date.parse(view.created_at)).toBe(4 * hour)
    const path = await linked(agent, id)
    const response = await fetch(app.url + path)
    expect(response.headers.get('content-length')).toBe(String(view.bytes))
    const file = new Uint8Array(await response.arrayBuffer())
    const sealedKey = (await read(agent, id, '/key', { cookie: person.cookie })).json.data.sealed_key
    const pair = await keyPairOf(own.masterKey, own.keyring)
    const key = await openSealed(pair, sealedKey, { agent: agent.id, snapshot: id })
    const sealed = await readSealedSnapshot(
      (async function* () {
        yield file
      })(),
    )
    expect(sealed.head).toMatchObject({ id, agent: agent.id, kind: 'on_demand', key_id: own.keyring.key_id })
    let text = ''
    for await (const piece of sealed.open(key)) text += Buffer.from(piece).toString()
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const of = (part: string) => lines.filter((line) => line.part === part)
    expect(of('agent_documents')).toMatchObject([{ record: { title: 'Fixing', body: 'Wait for it.\n' } }])
    expect(of('grimoire_entries').map(({ record }) => record.envelope ?? record.entry.content)).toEqual([
      entry.envelope,
      { claim: 'calm' },
    ])
    expect(of('keyrings')).toMatchObject([{ record: { keyring: own.keyring } }])
    expect(JSON.parse(Buffer.from(of('state')[1].data, 'base64').toString())).toEqual({
      step: 3,
      wallet: { private_key: null },
    })
    expect(of('end')).toEqual([{ part: 'end', records: 4 }])
    for (const bytes of [file, readFileSync(keyFile(id))])
      expect(Buffer.from(bytes).includes('Wait for it') || Buffer.from(bytes).includes(Buffer.from(key))).toBe(false)
    const audit = await app.db.query<{ text: string }>(
      undefined,
      'SELECT row_to_json(a)::text AS text FROM audit_entries a',
    )
    expect(audit.some((row) => row.text.includes(path.split('/').at(-1) ?? '-'))).toBe(false)
  })

  test('is rejected with instructions when the agent has no keyring, and the owner can order it for a paused or retired agent', async () => {
    const agent = await mine()
    const response = await order(agent)
    expect([...refusal(response), response.text.includes('kp grimoire init')]).toEqual([409, 'conflict', true])
    await giveKeyring(app, agent.id)
    const set = (body: object) => ask('PUT', at(agent.id, '/status'), { cookie: person.cookie, body })
    await set({ status: 'paused' })
    expect(refusal(await order(agent))).toEqual([403, 'paused'])
    expect((await order(agent, { cookie: person.cookie })).status).toBe(202)
    await set({ status: 'dead', confirm: agent.id })
    expect(refusal(await order(agent))).toEqual([403, 'dead'])
    expect((await order(agent, { cookie: person.cookie })).status).toBe(202)
  })

  test('fails with the kind and path of a secret, and stores nothing', async () => {
    const agent = await keyed()
    await state(agent, JSON.stringify({ runs: [{ log: `asked with ${webToken}` }] }))
    const id = await made(agent)
    expect((await read(agent, id)).json.data).toMatchObject({
      state: 'failed',
      failure: [{ kind: 'credential', path: 'state.runs.0.log' }],
      bytes: null,
    })
    const row = await rowOf(id)
    expect([existsSync(keyFile(id)), await app.app.stored.objects.versions(row?.objectKey ?? '')]).toEqual([false, []])
    expect(JSON.stringify(row?.failure)).not.toContain(webToken)
    expect(refusal(await read(agent, id, '/key'))).toEqual([410, 'expired'])
    app.clock.advance(day)
    await run('snapshots.upkeep')
    expect(await rowOf(id)).toBeNull()
  })

  test('returns 404 to every other actor, and its links end with it', async () => {
    const agent = await keyed()
    const id = await made(agent)
    const path = await linked(agent, id)
    const stranger = await keyed(null)
    const other = await signedIn(app)
    for (const by of [{ token: stranger.token }, { cookie: other.cookie }]) {
      for (const part of ['', '/key']) expect(refusal(await read(agent, id, part, by))).toEqual([404, 'not_found'])
      expect(refusal(await ask('GET', at(agent.id, '/snapshots'), by))).toEqual([404, 'not_found'])
      expect(refusal(await order(agent, by))).toEqual([404, 'not_found'])
      expect(refusal(await ask('POST', at(agent.id, `/snapshots/${id}/link`), by))).toEqual([404, 'not_found'])
      expect(refusal(await ask('DELETE', at(agent.id, `/snapshots/${id}`), by))).toEqual([404, 'not_found'])
      expect(refusal(await state(agent, '{}', 'application/json', by))).toEqual([404, 'not_found'])
    }
    // Nor under another agent of the actor.
    expect(refusal(await read(stranger, id))).toEqual([404, 'not_found'])
    expect(refusal(await ask('GET', '/v1/snapshots/nothing', {}))).toEqual([404, 'not_found'])
    expect((await ask('GET', path, {})).status).toBe(200)
    const objectKey = (await rowOf(id))?.objectKey ?? ''
    expect(await removed(agent, id)).toEqual([200, true])
    // The row remains for an hour, because it counts towards the limit.
    expect((await isDeleted(id, objectKey)).slice(1)).toEqual(deleted.slice(1))
    expect(refusal(await ask('GET', path, {}))).toEqual([404, 'not_found'])
    expect(refusal(await ask('DELETE', at(agent.id, `/snapshots/${id}`), { token: agent.token }))).toEqual([
      404,
      'not_found',
    ])
    app.clock.advance(hour)
    await run('snapshots.upkeep')
    expect(await rowOf(id)).toBeNull()
  })

  test('is downloaded with no link whose token was revoked or whose session has ended', async () => {
    const owner = await signedIn(app)
    const { cookie, accountId } = owner
    const agent = await keyed(owner)
    const id = await made(agent)
    const pathOf = async (by: TestRequest) => {
      const response = await ask('POST', at(agent.id, `/snapshots/${id}/link`), by)
      expect(response.status, response.text).toBe(201)
      return new URL(response.json.data.url).pathname
    }
    const further = await furtherToken(app, agent.id, ['read', 'write'])
    const paths = [await pathOf(agent), await pathOf(further), await pathOf({ cookie })]
    const statuses = () => Promise.all(paths.map(async (path) => (await ask('GET', path, {})).status))
    expect(await statuses()).toEqual([200, 200, 200])
    await app.db.prisma.session.updateMany({ where: { accountId }, data: { revokedAt: app.clock.now() } })
    expect(await statuses()).toEqual([200, 200, 404])
    expect((await ask('DELETE', `/v1/auth/tokens/${further.tokenId}`, agent)).status).toBe(204)
    expect(await statuses()).toEqual([200, 404, 404])
    // Links of earlier versions do not name what created them.
    await app.db.prisma.snapshotLink.updateMany({ where: { snapshotId: id }, data: { tokenId: null, sessionId: null } })
    expect(await statuses()).toEqual([200, 200, 200])
  })

  test('becomes unreachable when its key cannot be destroyed, and the key is deleted before the object', async () => {
    const agent = await keyed()
    const id = await made(agent)
    const path = await linked(agent, id)
    const objectKey = (await rowOf(id))?.objectKey ?? ''
    const free = obstructed(id)
    expect(await removed(agent, id)).toEqual([200, false])
    expect([(await read(agent, id)).status, (await ask('GET', path, {})).status]).toEqual([404, 404])
    expect(await app.app.stored.objects.versions(objectKey)).toHaveLength(1)
    free()
    await run('snapshots.upkeep')
    expect((await isDeleted(id, objectKey)).slice(1)).toEqual(deleted.slice(1))
  })

  test('expires four hours after the order, with its key, object and links', async () => {
    const agent = await keyed()
    const id = await made(agent)
    const objectKey = (await rowOf(id))?.objectKey ?? ''
    app.clock.advance(3 * hour)
    const path = await linked(agent, id)
    app.clock.advance(hour - 1)
    await run('snapshots.upkeep')
    expect([(await read(agent, id)).status, (await ask('GET', path, {})).status]).toEqual([200, 200])
    app.clock.advance(1)
    // Also before the job has run.
    expect([(await read(agent, id)).status, (await ask('GET', path, {})).status]).toEqual([404, 404])
    await run('snapshots.upkeep')
    expect(await isDeleted(id, objectKey)).toEqual(deleted)
    expect(await app.db.prisma.snapshotLink.count({ where: { snapshotId: id } })).toBe(0)
  })

  test('is limited to a few at a time, and a repeated request returns the same snapshot', async () => {
    const agent = await keyed()
    const by = { token: agent.token, headers: { 'Idempotency-Key': newId('try') } }
    const [first, again] = [await order(agent, by), await order(agent, by)]
    expect(again.json.data.id).toBe(first.json.data.id)
    for (let more = 1; more < maxOnDemand; more++) expect((await order(agent)).status).toBe(202)
    expect(refusal(await order(agent))).toEqual([409, 'conflict'])
    await run('snapshots.make', { id: first.json.data.id })
    const link = { ...by, headers: { 'Idempotency-Key': newId('try') } }
    const to = at(agent.id, `/snapshots/${first.json.data.id}/link`)
    const [one, two] = [await ask('POST', to, link), await ask('POST', to, link)]
    expect([one.status, 'url' in one.json.data, 'url' in (two.json.data ?? {})]).toEqual([201, true, false])
  })
})

describe('a hostile caller', () => {
  const revoke = (agent: Issued) =>
    app.db.query(undefined, 'UPDATE tokens SET revoked_at = $2 WHERE agent_id = $1', [agent.id, app.clock.now()])

  test('gets nothing with a revoked token or its links, while a link of the owner works until the snapshot is deleted', async () => {
    const agent = await keyed()
    const id = await made(agent)
    const path = await linked(agent, id)
    const ofOwner = await ask('POST', at(agent.id, `/snapshots/${id}/link`), { cookie: person.cookie })
    const { pathname } = new URL(ofOwner.json.data.url)
    await revoke(agent)
    for (const response of [
      await order(agent),
      await state(agent, '{}'),
      await read(agent, id),
      await read(agent, id, '/key'),
      await ask('POST', at(agent.id, `/snapshots/${id}/link`), { token: agent.token }),
      await ask('DELETE', at(agent.id, `/snapshots/${id}`), { token: agent.token }),
    ])
      expect(response.status, response.text).toBe(401)
    const statuses = async () => [(await ask('GET', path, {})).status, (await ask('GET', pathname, {})).status]
    expect(await statuses()).toEqual([404, 200])
    await ask('DELETE', at(agent.id, `/snapshots/${id}`), { cookie: person.cookie })
    expect(await statuses()).toEqual([404, 404])
  })

  test('cannot exceed the hourly limit by deleting snapshots', async () => {
    const agent = await keyed()
    const by = { token: agent.token }
    const once = async () => {
      const response = await order(agent)
      if (response.status === 202) await ask('DELETE', at(agent.id, `/snapshots/${response.json.data.id}`), by)
      return response
    }
    for (let one = 0; one < maxInHour; one++) expect((await once()).status).toBe(202)
    const refused = await once()
    expect([...refusal(refused), Number(refused.headers.get('retry-after')) > 0]).toEqual([429, 'rate_limited', true])
    // The limit of one agent does not affect another agent of the owner.
    expect((await order(await keyed())).status).toBe(202)
    app.clock.advance(hour)
    expect((await once()).status).toBe(202)
  })

  test('a caller with access to the bucket can read no snapshot, and changed objects do not open', async () => {
    const agent = await mine()
    const { keyring, masterKey } = await newKeyring('nine herons along the river bank')
    await giveKeyring(app, agent.id, keyring)
    const id = await made(agent)
    const path = await linked(agent, id)
    const { objectKey } = (await rowOf(id)) ?? { objectKey: '' }
    const { objects } = app.app.stored
    const bytesOf = async () => new Uint8Array(await (await fetch(app.url + path)).arrayBuffer())
    const sealedKey = (await read(agent, id, '/key')).json.data.sealed_key
    const key = await openSealed(await keyPairOf(masterKey, keyring), sealedKey, {
      agent: agent.id,
      snapshot: id,
    })
    const opened = async (file: Uint8Array) => {
      const sealed = await readSealedSnapshot(
        (async function* () {
          yield file
        })(),
      )
      for await (const _ of sealed.open(key));
    }
    const file = await bytesOf()
    await opened(file)
    file[file.length - 1] = (file.at(-1) ?? 0) ^ 1
    await objects.put(
      objectKey,
      (async function* () {
        yield file
      })(),
      { mediaType: 'application/octet-stream' },
    )
    await expect(bytesOf().then(opened)).rejects.toMatchObject({ code: 'damaged' })
    await objects.erase([objectKey])
    expect(refusal(await ask('GET', path, {}))).toEqual([404, 'not_found'])
    expect(await removed(agent, id)).toEqual([200, true])
  })
})

describe('insurance snapshots', () => {
  const insurances = async (agent: Issued) =>
    (await ask('GET', at(agent.id, '/snapshots?kind=insurance'), { cookie: person.cookie })).json.data
  /** Makes the insurance snapshots that are due for the agent. */
  async function insured(agent: Issued): Promise<void> {
    await run('snapshots.insure')
    for (const { id } of await app.db.prisma.snapshot.findMany({ where: { agentId: agent.id, state: 'preparing' } }))
      await run('snapshots.make', { id })
    await run('snapshots.upkeep')
  }

  test('are made every six hours of life, only the newest are kept, and they expire 30 days after retirement', async () => {
    const agent = await keyed()
    await insured(agent)
    expect(await insurances(agent)).toMatchObject([{ kind: 'insurance', state: 'ready', expires_at: null }])
    app.clock.advance(6 * hour - 1)
    await insured(agent)
    expect(await insurances(agent)).toHaveLength(1)
    for (let more = 0; more < maxInsurances + 1; more++) {
      app.clock.advance(6 * hour)
      await insured(agent)
    }
    const retained = await insurances(agent)
    expect(retained).toHaveLength(maxInsurances)
    expect(
      readdirSync(join(app.dataDir, 'snapshot-keys')).filter((id) =>
        retained.some((one: { id: string }) => one.id === id),
      ),
    ).toHaveLength(maxInsurances)

    const body = { status: 'dead', confirm: agent.id }
    await passwordEntered(app, person)
    expect((await ask('PUT', at(agent.id, '/status'), { cookie: person.cookie, body })).status).toBe(200)
    app.clock.advance(30 * day - 1)
    await insured(agent)
    const [last, ...rest] = await insurances(agent)
    expect([rest.length, last.state]).toEqual([maxInsurances - 1, 'ready'])
    const link = await ask('POST', at(agent.id, `/snapshots/${last.id}/link`), { cookie: person.cookie })
    expect(link.json.data.expires_at).toBe(last.expires_at)
    const { objectKey } = (await rowOf(last.id)) ?? { objectKey: '' }
    app.clock.advance(1)
    await run('snapshots.upkeep')
    expect(await insurances(agent)).toEqual([])
    expect(await isDeleted(last.id, objectKey)).toEqual(deleted)
  })
})

describe('after a crash', () => {
  test('the next attempt makes the snapshot again with a new key', async () => {
    const agent = await keyed()
    const id = await made(agent)
    const first = readFileSync(keyFile(id), 'utf8')
    await app.db.prisma.snapshot.update({ where: { id }, data: { state: 'preparing', bytes: null, digest: null } })
    await run('snapshots.make', { id })
    expect((await read(agent, id)).json.data.state).toBe('ready')
    expect(readFileSync(keyFile(id), 'utf8')).not.toBe(first)
  })

  test('the sweep deletes keys and objects without a row, and nothing else', async () => {
    const agent = await keyed()
    const id = await made(agent)
    await state(agent, '{"kept":true}')
    const { objects } = app.app.stored
    const lost = newId('snap')
    const bytes = async function* () {
      yield Buffer.from('half')
    }
    const orphan = `snapshots/${agent.id}/${lost}`
    const foreign = `snapshots/${agent.id}/notes`
    for (const key of [orphan, foreign]) await objects.put(key, bytes(), { mediaType: 'text/plain' })
    // Two old keys: one of a deleted snapshot, one in use.
    const [old] = [new Date(app.clock.now().getTime() - 2 * day)]
    const other = await made(agent)
    await app.db.prisma.snapshot.delete({ where: { id: other } })
    for (const one of [id, other]) utimesSync(keyFile(one), old, old)
    app.clock.advance(Math.max(0, Date.now() - app.clock.now().getTime()) + 2 * day)
    await app.db.prisma.snapshot.update({ where: { id }, data: { expiresAt: null } })
    await run('snapshots.sweep') // the first run marks an unmarked bucket, the next one sweeps it
    await run('snapshots.sweep')
    expect([existsSync(keyFile(id)), existsSync(keyFile(other))]).toEqual([true, false])
    expect(await objects.versions(orphan)).toEqual([])
    const bundle = await app.db.prisma.stateBundle.findUnique({ where: { agentId: agent.id } })
    for (const key of [foreign, `snapshots/${agent.id}/${id}`, bundle?.objectKey ?? ''])
      expect(await objects.versions(key)).toHaveLength(1)
  })
})

describe('a restoration', () => {
  const restore = (agent: Issued, content: string, by: TestRequest = { token: agent.token }) =>
    ask('POST', at(agent.id, '/snapshots/restore'), {
      ...by,
      body: content,
      headers: { 'Content-Type': 'application/x-ndjson', ...by.headers },
    })
  const jsonl = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const when = '2026-01-02T03:04:05.000Z'
  const document = (id = newId('adoc'), body = 'Wait for it.\n') => ({
    part: 'agent_documents',
    record: { id, kind: 'playbook', title: 'Fixing', body, revision: 3, created_at: when, updated_at: when },
  })
  const insight = (id = newId('ent'), more: object = {}) => ({
    part: 'grimoire_entries',
    record: {
      id,
      agent_id: 'another',
      kind: 'insight',
      scope: 'clade',
      envelope: null,
      entry: {
        content: { claim: 'calm' },
        confidence: 0.7,
        tags: ['fx'],
        provenance: { run: 7 },
        parents: [],
        valid_from: null,
        valid_until: null,
      },
      valid_until: null,
      created_at: when,
      updated_at: when,
      ...more,
    },
  })
  const ringOf = async (agent: Issued) =>
    (await ask('GET', at(agent.id, '/keyring'), { token: agent.token })).json.data.keyring.key_id
  const private_ = (keyId: string, id = newId('ent')) => ({
    part: 'grimoire_entries',
    record: {
      id,
      agent_id: 'another',
      kind: 'episode',
      scope: 'private',
      envelope: seemingEnvelope(keyId),
      entry: null,
      valid_until: null,
      created_at: when,
      updated_at: when,
    },
  })
  const stated = (text: string) => [
    { part: 'state', media_type: 'application/json' },
    { part: 'state', data: Buffer.from(text).toString('base64') },
  ]
  const whole = (from: string, records: object[], after: object[] = []) =>
    jsonl([
      { part: 'agent', record: { id: from, grimoire_days: 3_000, name: 'whatever' } },
      ...records,
      ...after,
      { part: 'end', records: records.length },
    ])
  const held = async (agent: Issued) => [
    await app.db.prisma.agentDocument.count({ where: { agentId: agent.id } }),
    await app.db.prisma.grimoireEntry.count({ where: { agentId: agent.id } }),
    await app.db.prisma.stateBundle.count({ where: { agentId: agent.id } }),
    (await app.app.stored.objects.list(`snapshots/${agent.id}/`, '', 10)).length,
  ]

  test('restores missing records, and repeating it changes nothing', async () => {
    const agent = await keyed()
    const [paper, entry, own] = [document(), insight(), private_(await ringOf(agent))]
    const content = whole(agent.id, [paper, entry, own], stated('{"a":1}'))
    const first = await restore(agent, content)
    expect([first.status, first.json?.data], first.text).toEqual([
      200,
      {
        agent_id: agent.id,
        documents: 1,
        entries: 2,
        there: 0,
        ended: 0,
        state_bytes: 7,
        settings: true,
      },
    ])
    expect((await ask('GET', at(agent.id, `/documents/${paper.record.id}`), { token: agent.token })).json.data).toEqual(
      expect.objectContaining({ title: 'Fixing', body: 'Wait for it.\n', revision: 3, created_at: when }),
    )
    const seen = (await ask('GET', at(agent.id, `/grimoire/${entry.record.id}`), { token: agent.token })).json.data
    expect([seen.entry, seen.created_at]).toEqual([entry.record.entry, when])
    const sealed = (await ask('GET', at(agent.id, `/grimoire/${own.record.id}`), { token: agent.token })).json.data
    expect(sealed.envelope).toEqual(own.record.envelope)
    expect((await restore(agent, content)).json.data).toMatchObject({
      documents: 0,
      entries: 0,
      there: 3,
      settings: false,
    })
    expect(await held(agent)).toEqual([1, 2, 1, 1])
    // A record that was changed meanwhile is kept.
    const body = { revision: 3, title: 'Fixing', body: 'Newer.\n' }
    await ask('PUT', at(agent.id, `/documents/${paper.record.id}`), { token: agent.token, body })
    await restore(agent, content)
    const newer = await ask('GET', at(agent.id, `/documents/${paper.record.id}`), { token: agent.token })
    expect(newer.json.data.body).toBe('Newer.\n')
  })

  test('into another agent uses new ids and skips records sealed for the first agent', async () => {
    const [agent, other] = [await keyed(), await keyed()]
    const [paper, entry] = [document(), insight()]
    await restore(agent, whole(agent.id, [paper, entry]))
    for (const there of [0, 2]) {
      const response = await restore(other, whole(agent.id, [paper, entry]))
      expect(response.json?.data, response.text).toMatchObject({
        documents: 1 - there / 2,
        entries: 1 - there / 2,
        there,
      })
    }
    expect([await held(agent), await held(other)]).toEqual([
      [1, 1, 0, 0],
      [1, 1, 0, 0],
    ])
    // A false claim to be the source agent is rejected, because the ids belong to another agent.
    expect(refusal(await restore(other, whole(other.id, [paper])))).toEqual([409, 'id_in_use'])
    const foreign = await restore(other, whole(agent.id, [private_(await ringOf(agent))]))
    expect(refusal(foreign)).toEqual([422, 'invalid'])
    expect(await held(other)).toEqual([1, 1, 0, 0])
  })

  test('a restoration of incomplete or inconsistent content is rejected without restoring a part of its records', async () => {
    const agent = await keyed()
    const lines = whole(agent.id, [document()], stated('{"a":1}')).split('\n').slice(0, -1)
    const cases: [string, string][] = [
      ['no end', lines.slice(0, -1).join('\n')],
      ['a cut line', `${lines.slice(0, 3).join('\n')}\n{"part":"sta`],
      ['a wrong count', [...lines.slice(0, -1), '{"part":"end","records":7}'].join('\n')],
      ['more after the end', [...lines, lines[1]].join('\n')],
      ['no agent first', lines.slice(1).join('\n')],
      ['another part', [lines[0], '{"part":"tokens","record":{}}', lines.at(-1)].join('\n')],
      ['a second state', [...lines.slice(0, -1), ...lines.slice(2)].join('\n')],
      ['a long line', [lines[0], `{"part":"agent_documents","record":"${'x'.repeat(2 * 1024 * 1024)}"}`].join('\n')],
      ['an episode for the clade', whole(agent.id, [insight(newId('ent'), { kind: 'episode' })])],
      ['no document', whole(agent.id, [document(), document('adoc_1')])],
      ['nothing', ''],
    ]
    for (const [name, content] of cases) {
      const response = await restore(agent, content)
      expect([name, response.status >= 400 && response.status < 500], response.text).toEqual([name, true])
      expect((await held(agent)).slice(1), name).toEqual([0, 0, 0])
    }
    expect(await held(agent)).toEqual([0, 0, 0, 0])
    // Complete batches before the error are kept and reported.
    const many = Array.from({ length: 260 }, () => insight())
    const broken = await restore(agent, whole(agent.id, [...many, insight('ent_1')]))
    expect([...refusal(broken), broken.json.restored]).toEqual([422, 'invalid', { documents: 0, entries: 250 }])
    expect((await restore(agent, whole(agent.id, many))).json.data).toMatchObject({ entries: 10, there: 250 })
  })

  test('is rejected for other actors and for paused, retired or restricted agents', async () => {
    const agent = await keyed()
    const content = whole(agent.id, [document()])
    const stranger = await keyed(null)
    const other = await signedIn(app)
    for (const by of [{ token: stranger.token }, { cookie: other.cookie }])
      expect(refusal(await restore(agent, content, by))).toEqual([404, 'not_found'])
    expect(refusal(await restore(agent, content, {}))[0]).toBe(401)
    await app.db.prisma.agent.update({ where: { id: agent.id }, data: { restrictedAt: app.clock.now() } })
    for (const by of [{ token: agent.token }, { cookie: person.cookie }])
      expect(refusal(await restore(agent, content, by))).toEqual([403, 'restricted'])
    await app.db.prisma.agent.update({ where: { id: agent.id }, data: { restrictedAt: null } })
    await passwordEntered(app, person)
    for (const status of ['paused', 'dead']) {
      const body = { status, ...(status === 'dead' && { confirm: agent.id }) }
      expect((await ask('PUT', at(agent.id, '/status'), { cookie: person.cookie, body })).status).toBe(200)
      for (const by of [{ token: agent.token }, { cookie: person.cookie }])
        expect(refusal(await restore(agent, content, by))).toEqual([403, status])
    }
    expect(await held(agent)).toEqual([0, 0, 0, 0])
  })

  test("skips records that have expired by their own term or the agent's", async () => {
    const agent = await keyed()
    app.clock.advance(0)
    const past = new Date(app.clock.now().getTime() - 1).toISOString()
    const old = new Date(app.clock.now().getTime() - 3_001 * day).toISOString()
    const records = [
      insight(newId('ent'), { valid_until: past }),
      insight(newId('ent'), { created_at: old }),
      insight(),
    ]
    expect((await restore(agent, whole(agent.id, records))).json.data).toMatchObject({ entries: 1, ended: 2, there: 0 })
  })
})

describe('an uploaded state', () => {
  test('is stored once, at most 50 MiB, and deleted on request', async () => {
    const agent = await keyed()
    const keys = () => app.app.stored.objects.list(`snapshots/${agent.id}/`, '', 10)
    for (const text of ['{"a":1}', '{"a":2}']) expect((await state(agent, text)).status).toBe(200)
    expect(await keys()).toHaveLength(1)
    expect(refusal(await state(agent, 'x', 'text/html'))).toEqual([415, 'unsupported_media_type'])
    expect(refusal(await state(agent, new Uint8Array(50 * 1024 * 1024 + 1), 'application/octet-stream'))).toEqual([
      413,
      'too_large',
    ])
    expect(await keys()).toHaveLength(1)
    const answer = (token: string) => ask('GET', at(agent.id, '/state'), { token })
    expect((await answer(agent.token)).json.data).toEqual({
      agent_id: agent.id,
      media_type: 'application/json',
      bytes: 7,
      sha256: createHash('sha256').update('{"a":2}').digest('hex'),
      uploaded_at: app.clock.now().toISOString(),
    })
    expect((await answer((await keyed()).token)).status).toBe(404)
    const drop = () => ask('DELETE', at(agent.id, '/state'), { token: agent.token })
    expect([(await drop()).status, (await drop()).status, await keys()]).toEqual([204, 404, []])
    expect((await answer(agent.token)).status).toBe(404)
  })
})

describe('when a store fails', () => {
  test('a deleted state is erased as soon as possible', async () => {
    const agent = await keyed()
    for (const text of ['{"a":1}', '{"a":2}']) await state(agent, text)
    const bundle = await app.db.prisma.stateBundle.findUniqueOrThrow({ where: { agentId: agent.id } })
    const { objects } = app.app.stored
    await drain(app)
    expect(await objects.list(`snapshots/${agent.id}/`, '', 10)).toEqual([bundle.objectKey])
    expect((await ask('DELETE', at(agent.id, '/state'), { token: agent.token })).status).toBe(204)
    // The object as it would be if the store had not answered.
    const again = async function* () {
      yield Buffer.from('{"a":2}')
    }
    await objects.put(bundle.objectKey, again(), { mediaType: 'application/json' })
    await drain(app)
    expect(await objects.versions(bundle.objectKey)).toEqual([])
  })

  test('one key that cannot be deleted does not keep the keys of other snapshots', async () => {
    const agent = await keyed()
    const ids: string[] = []
    for (let one = 0; one < 3; one++) ids.push(await made(agent))
    const [first = '', ...others] = ids.sort()
    await app.db.prisma.snapshot.updateMany({ where: { id: { in: ids } }, data: { state: 'gone' } })
    const free = obstructed(first)
    await expect(run('snapshots.upkeep')).rejects.toThrow('EISDIR')
    expect(others.map((id) => existsSync(keyFile(id)))).toEqual([false, false])
    free()
    await run('snapshots.upkeep')
    expect(existsSync(keyFile(first))).toBe(false)
  })

  test('a repeated job destroys the key of a snapshot that was deleted meanwhile', async () => {
    const agent = await keyed()
    const id = await made(agent)
    await app.db.prisma.snapshot.deleteMany({ where: { id } })
    expect(existsSync(keyFile(id))).toBe(true)
    await run('snapshots.make', { id })
    expect(existsSync(keyFile(id))).toBe(false)
  })
})

describe('the erasure of an agent', () => {
  test('destroys the keys of snapshots first, then all data that the keys opened, and records the destruction in the receipt', async () => {
    const owner = await signedIn(app)
    const agent = await keyed(owner)
    const colleague = await keyed(await signedIn(app, 'person', owner.organisationId))
    await state(agent, '{"a":1}')
    const id = await made(agent)
    const path = await linked(agent, id)
    const late = (await order(agent)).json.data.id
    const objectKey = (await rowOf(id))?.objectKey ?? ''
    const run = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: owner.accountId, agents: [] },
        requestedBy: 'user:test',
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    const versions = () => app.app.stored.objects.versions(objectKey)
    expect([existsSync(keyFile(id)), (await versions()).length]).toEqual([true, 1])
    crashAt = 'step.snapshots.objects.before'
    await expect(drain(app)).rejects.toThrow('step.snapshots.objects.before')
    expect([existsSync(keyFile(id)), (await versions()).length]).toEqual([false, 1])
    await drain(app)
    const done = await app.app.subjectErasures.run(run.runId)
    expect(done?.state).toBe('done')
    const steps = (done?.steps ?? []).filter(({ holder }) => holder.startsWith('snapshots.'))
    expect(Object.fromEntries(steps.map((step) => [step.holder, step.residue]))).toEqual({
      'snapshots.keys': 0,
      'snapshots.objects': 0,
      'snapshots.links': 0,
      'snapshots.rows': 0,
      'snapshots.state': 0,
    })
    expect(await isDeleted(id, objectKey)).toEqual(deleted)
    expect([await rowOf(late), existsSync(keyFile(late))]).toEqual([null, false])
    expect(await app.app.stored.objects.list(`snapshots/${agent.id}/`, '', 10)).toEqual([])
    expect(refusal(await ask('GET', path, {}))).toEqual([404, 'not_found'])
    // Nor can it be restored into another agent. A stranger gets the same answer as for an agent that exists.
    const restored = async (from: string, { id: into, token }: Issued) => {
      const lines = [
        { part: 'agent', record: { id: from, grimoire_days: null } },
        { part: 'end', records: 0 },
      ]
      const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
      const headers = { 'Content-Type': 'application/x-ndjson' }
      return ask('POST', at(into, '/snapshots/restore'), { token, body, headers })
    }
    const [stranger, existing] = [await keyed(null), await keyed()]
    for (const from of [agent.id, existing.id])
      expect(refusal(await restored(from, stranger))).toEqual([404, 'not_found'])
    expect((await restored('never-here', stranger)).status).toBe(200)
    expect(refusal(await restored(agent.id, colleague))).toEqual([410, 'erased'])
    const { text } = await ask('GET', `/v1/receipts/${done?.receiptId}`, {})
    expect(text).toContain('destroyed first, so that no copy of a snapshot can be opened any more')
  })
})
