import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'

let test: TestApp
let admin: Person
let victim: Issued
beforeAll(async () => {
  test = await testApp({ KP_BACKUP_DAYS: '30' })
  admin = await signedIn(test, 'admin')
  victim = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test), tier: 'pro' })
})
afterAll(() => test?.close())

const minute = 60_000
type Asker = { token: string } | { cookie: string }
const call = async (method: string, path: string, who: Asker, body?: unknown) => {
  const response = await test.fetch(method, path, { ...who, ...(body !== undefined && { body }) })
  if (response.status > 299) throw new Error(`${method} ${path} answered ${response.status}: ${response.text}`)
  return response.json
}
const from = (name: string) => ({ source: { type: 'human_expert' as const, expert_id: name, credentials: [] } })
const visibilities = ['network', 'org', 'private'] as const
type Visibility = (typeof visibilities)[number]
/** A unit, an SOP with two versions and a skill of an author, all naming `name`. */
async function writes(author: Issued, name: string, visibility: Visibility): Promise<string[]> {
  const shown = { visibility }
  const task = { objective: `An objective ${newId('x')}` }
  const one = (
    await call('POST', '/v1/knowledge', author, trace({ task }, { validated_by: ['somebody', name], ...shown }))
  ).data.id
  const other = (await call('POST', '/v1/sop', author, sop({ ...from(name), name: newId('sop') }, shown))).data.id
  await call('PUT', `/v1/sop/${other}`, author, sop({ ...from(name), name: newId('sop') }, shown))
  const front = `author: ${name}`
  const skill = (
    await call('POST', '/v1/skills', author, {
      skill_md: skillMd(newId('s').toLowerCase().replace('_', '-'), { front }),
      visibility,
    })
  ).data.id
  return [one, other, skill]
}
/** All rows of these records as text. */
const rowsOf = async (ids: readonly string[]): Promise<string[]> =>
  (
    await test.db.query<{ row: string }>(
      undefined,
      `SELECT t::text AS row FROM units t WHERE id = ANY($1) UNION ALL SELECT v::text FROM sop_versions v WHERE unit_id = ANY($1)
       UNION ALL SELECT s::text FROM skills s WHERE id = ANY($1) ORDER BY 1`,
      [ids],
    )
  ).map(({ row }) => row)
/** Registers an agent with this name, as anyone can. */
async function registered(name: string): Promise<{ token: string; id: string }> {
  const response = await test.fetch('POST', '/v1/auth/register', {
    body: { agent_id: name, scopes: ['read', 'write'] },
  })
  if (response.status !== 201) throw new Error(response.text)
  return { token: response.json.data.api_key, id: name }
}
const counted = async (who: Asker): Promise<number[]> => {
  const references = ({ holder }: { holder: string }) => holder === 'knowledge.references'
  const plan = (await call('GET', '/api/privacy/plan', who)).data.holdings.find(references)
  const inventory = (await call('GET', '/api/privacy/inventory', who)).data.find(references)
  return [plan?.count ?? 0, inventory?.count ?? 0]
}
/** Erases the agent and returns the receipt. */
async function erased(who: { token: string; id: string }) {
  const asked = await call('POST', '/api/privacy/requests', who, { kinds: ['erasure'], grace: 'now' })
  await drain(test)
  const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { requestId: asked.data.id } })
  expect(run.state).toBe('done')
  return (await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).json
}
const deletedOf = (receipt: { stores: { holder: string; deleted: number }[] }): number | undefined =>
  receipt.stores.find(({ holder }) => holder === 'knowledge.references')?.deleted
const name = () => newId('acme').toLowerCase().replace('_', '-')

describe('an agent with the same name as a stranger', () => {
  it.each(visibilities)('is erased without renaming or counting older %s records', async (visibility) => {
    const known = name()
    const ids = await writes(victim, known, visibility)
    const before = await rowsOf(ids)
    test.clock.advance(minute)
    const squatter = await registered(known)
    expect(await counted(squatter)).toEqual([0, 0])
    const receipt = await erased(squatter)
    expect(deletedOf(receipt)).toBe(0)
    expect(JSON.stringify(receipt.retained)).toContain('that equal an erased id but do not verifiably refer to')
    expect(await rowsOf(ids)).toEqual(before)
    // Later contributions that name it are stored.
    expect((await writes(victim, known, visibility)).length).toBe(3)
  })

  it.each(['org', 'private'] as const)(
    'is erased without renaming or counting newer %s records',
    async (visibility) => {
      const known = name()
      const squatter = await registered(known)
      test.clock.advance(minute)
      const ids = await writes(victim, known, visibility)
      const before = await rowsOf(ids)
      expect(await counted(squatter)).toEqual([0, 0])
      expect(deletedOf(await erased(squatter))).toBe(0)
      expect(await rowsOf(ids)).toEqual(before)
    },
  )

  it('exports no older record', async () => {
    const known = name()
    const ids = await writes(victim, known, 'network')
    test.clock.advance(minute)
    const squatter = await registered(known)
    const { text } = await test.fetch('GET', `/v1/export/${known}`, squatter)
    for (const id of ids) expect(text).not.toContain(id)
  })

  it('is erased without renaming a name that a later correction added to an older record', async () => {
    const known = name()
    const [unit = '', ...rest] = await writes(victim, 'somebody-else', 'network')
    test.clock.advance(minute)
    const squatter = await registered(known)
    await call('PATCH', `/v1/knowledge/${unit}`, victim, { unit: { metadata: { validated_by: [known] } } })
    const before = await rowsOf([unit, ...rest])
    expect(deletedOf(await erased(squatter))).toBe(0)
    expect(await rowsOf([unit, ...rest])).toEqual(before)
  })
})

describe('an agent whose name in a record verifiably refers to it', () => {
  it('is renamed by its erasure in records of its organization with any visibility', async () => {
    const owner = await signedIn(test)
    const colleague = await issuedAgent(test, ['read', 'write'], {
      owner: await signedIn(test, 'person', owner.organisationId),
      tier: 'pro',
    })
    const agent = await registered(name())
    // Imitates a claim, which leaves no empty organization; erasing a claimed agent would have a grace period.
    await test.db.prisma.agent.update({ where: { id: agent.id }, data: { organisationId: owner.organisationId } })
    await test.db.prisma.organisation.deleteMany({ where: { name: agent.id } })
    const ids = (await Promise.all(visibilities.map((one) => writes(colleague, agent.id, one)))).flat()
    expect(await counted(agent)).toEqual([9, 9])
    expect(deletedOf(await erased(agent))).toBe(9)
    expect((await rowsOf(ids)).join('\n')).not.toContain(agent.id)
  })

  it("is renamed by its erasure in strangers' network records written after its registration", async () => {
    const known = name()
    const agent = await registered(known)
    test.clock.advance(minute)
    const ids = await writes(victim, known, 'network')
    expect(await counted(agent)).toEqual([3, 3])
    expect(deletedOf(await erased(agent))).toBe(3)
    const rows = (await rowsOf(ids)).join('\n')
    expect(rows).not.toContain(known)
    expect(rows).toMatch(/erased-[0-9A-Za-z]{12}/)
    expect(rows).toContain('somebody')
  })

  it('keeps its name after its erasure in a version that was not shared when it was written', async () => {
    const known = name()
    const agent = await registered(known)
    test.clock.advance(minute)
    const id = (
      await call('POST', '/v1/sop', victim, sop({ ...from(known), name: newId('sop') }, { visibility: 'private' }))
    ).data.id
    await call('PUT', `/v1/sop/${id}`, victim, sop({ ...from(known), name: newId('sop') }, { visibility: 'network' }))
    await erased(agent)
    const rows = await test.db.query<{ version: number; expert: string }>(
      undefined,
      `SELECT version, document->'source'->>'expert_id' AS expert FROM sop_versions WHERE unit_id = $1 ORDER BY version`,
      [id],
    )
    expect(rows[0]?.expert).toBe(known)
    expect(rows[1]?.expert).toMatch(/^erased-/)
  })
})

describe("an admin's decisions about names in records of others", () => {
  let known: string
  let ids: string[]
  let receipt: { receipt_id: string }
  const at = () => `/api/admin/erasures/${receipt.receipt_id}/references`
  const decide = (who: Asker | object, decision: 'rename' | 'restore', records: readonly string[]) =>
    test.fetch('POST', at(), { ...who, body: { decision, records } })
  /**
   * Prepares a wrong renaming: the agent took the name before the records were written, so its erasure renamed them although they mean
   * another.
   */
  beforeEach(async () => {
    known = name()
    const squatter = await registered(known)
    test.clock.advance(minute)
    ids = await writes(victim, known, 'network')
    receipt = await erased(squatter)
  })

  it('restore only records that the erasure renamed', async () => {
    const wrong = await rowsOf(ids)
    const { restorable } = await call('GET', at(), admin)
    expect(restorable.data.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
    expect(Date.parse(restorable.until)).toBeGreaterThan(test.clock.now().getTime())
    expect(wrong.join('\n')).not.toContain(known)
    const other = await writes(victim, name(), 'network')
    const response = await decide(admin, 'restore', [...ids, ...other])
    expect([response.status, response.json.data]).toEqual([200, { changed: 3, unchanged: 3 }])
    const rows = (await rowsOf(ids)).join('\n')
    expect(rows).toContain(known)
    expect(rows).not.toMatch(/erased-[0-9A-Za-z]{12}/)
    const shown = await call('GET', `/v1/skills/${ids[2]}`, victim)
    expect([shown.data.author, shown.data.skill_md.includes(`author: ${known}`)]).toEqual([known, true])
    expect((await decide(admin, 'restore', ids)).json.data).toEqual({ changed: 0, unchanged: 3 })
    const [entry] = await test.app.audit.query(
      { resource_type: 'receipt', resource_id: receipt.receipt_id, action: 'update' },
      test.clock.now(),
    )
    expect(entry?.agentId).toBe(`user:${admin.accountId}`)
    expect(entry?.details).toMatchObject({ decision: 'restore', records: 3 })
    expect(JSON.stringify(entry)).not.toContain(known)
  })

  it('cannot restore after the backup period', async () => {
    const before = await rowsOf(ids)
    test.clock.advance(31 * 24 * 60 * minute)
    const late = await signedIn(test, 'admin')
    expect((await call('GET', at(), late)).restorable).toMatchObject({ data: [], total: 0 })
    const response = await decide(late, 'restore', ids)
    expect([response.status, response.json.code]).toEqual([410, 'expired'])
    expect(await rowsOf(ids)).toEqual(before)
    admin = late
  })

  it('list the names that an erasure kept, rename them and undo the renaming', async () => {
    const word = name()
    const foreign = (await Promise.all(visibilities.map((one) => writes(victim, word, one)))).flat()
    test.clock.advance(minute)
    receipt = await erased(await registered(word))
    test.clock.advance(minute)
    const later = await writes(victim, word, 'network')
    const before = await rowsOf([...foreign, ...later])
    const { data, total, restorable } = await call('GET', at(), admin)
    expect([restorable.data, restorable.total]).toEqual([[], 0])
    expect([data.map(({ id }: { id: string }) => id).sort(), total]).toEqual([[...foreign].sort(), 9])
    const [one] = data.filter(({ id }: { id: string }) => id === foreign[1])
    expect(one).toMatchObject({ visibility: 'network', places: ['source.expert_id'] })
    expect(JSON.stringify(data)).not.toContain(word)
    const some = foreign.slice(0, 3)
    expect((await decide(admin, 'rename', some)).json.data).toEqual({ changed: 3, unchanged: 0 })
    expect((await rowsOf(some)).join('\n')).not.toContain(word)
    const after = await call('GET', at(), admin)
    expect([after.total, after.restorable.total]).toEqual([6, 3])
    expect(after.restorable.data.map(({ id }: { id: string }) => id).sort()).toEqual([...some].sort())
    expect(JSON.stringify(after)).not.toContain(word)
    expect((await decide(admin, 'restore', some)).json.data).toEqual({ changed: 3, unchanged: 0 })
    expect((await call('GET', at(), admin)).restorable.total).toBe(0)
    const strip = (rows: readonly string[]) => rows.join('\n').match(new RegExp(word, 'g'))?.length
    expect(strip(await rowsOf([...foreign, ...later]))).toBe(strip(before))
  })

  it('are rejected for every other role', async () => {
    const revoked = await issuedAgent(test, ['admin'])
    await test.db.prisma.token.update({ where: { id: revoked.tokenId }, data: { revokedAt: test.clock.now() } })
    const cases = [
      [{}, 401],
      [{ token: victim.token }, 403],
      [await signedIn(test), 403],
      [await signedIn(test, 'manager'), 403],
      [await signedIn(test, 'auditor'), 403],
      [revoked, 401],
    ] as const
    const before = await rowsOf(ids)
    for (const [who, status] of cases) {
      expect((await decide(who, 'restore', ids)).status).toBe(status)
      expect((await test.fetch('GET', at(), who)).status).toBe(status)
    }
    expect(await rowsOf(ids)).toEqual(before)
    receipt = { receipt_id: newId('rcpt') }
    expect((await decide(admin, 'restore', ids)).status).toBe(404)
    expect((await decide(admin, 'restore', ['x'])).status).toBe(422)
  })
})
