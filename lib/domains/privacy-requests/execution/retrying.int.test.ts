import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const day = 86_400_000
/** Files a person's request to erase one of their agents, with a stuck first step. */
async function stuckErasure() {
  const person = await personWithPassword(kit.test)
  const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
  const body = { kinds: ['erasure'], grace: 'now', agent_id: agent.id, password: person.password }
  const { id } = (await kit.file(person.cookie, body)).json.data
  kit.test.clock.advance(day + 1)
  await kit.clockJob()
  await kit.work(['erasure.step'])
  const { erasure } = await kit.adminRead(id)
  const [step] = erasure.steps.filter(({ state }: { state: string }) => state !== 'done')
  await kit.test.db.prisma.erasureStep.update({
    where: { runId_holder: { runId: erasure.run_id, holder: step.holder } },
    data: { state: 'stuck', attempts: 8, fault: 'internal' },
  })
  return { person, agent, id: String(id) }
}
const retry = (id: string, by: object) => kit.test.fetch('POST', `/api/privacy/requests/${id}/retry`, by)

describe('POST /api/privacy/requests/{id}/retry', () => {
  it('retries a stuck erasure of an agent for the person who requested it', async () => {
    const { person, id } = await stuckErasure()
    expect((await retry(id, person)).status).toBe(200)
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
    // The request no longer names the erased agent, so the person cannot access it.
    expect((await retry(id, person)).status).toBe(404)
  })

  it('returns 404 to other people and agents, and 401 without a valid token', async () => {
    const { person, agent, id } = await stuckErasure()
    const other = await personWithPassword(kit.test)
    const foreign = await issuedAgent(kit.test, ['read', 'write'])
    expect((await retry(id, other)).status).toBe(404)
    expect((await retry(id, { token: foreign.token })).status).toBe(404)
    // The erasure has revoked the tokens of its agent.
    expect((await retry(id, { token: agent.token })).status).toBe(401)
    expect((await retry(id, {})).status).toBe(401)
    expect((await kit.read(person.cookie, id)).erasure.steps).toContainEqual(
      expect.objectContaining({ state: 'stuck' }),
    )
  })

  it('retries once when it is sent twice concurrently or replayed', async () => {
    const { person, id } = await stuckErasure()
    const twice = await Promise.all([retry(id, person), retry(id, person)])
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 409])
    const other = await stuckErasure()
    const replayed = { ...other.person, headers: { 'Idempotency-Key': newId('key') } }
    const [first, again] = [await retry(other.id, replayed), await retry(other.id, replayed)]
    expect([first.status, again.status, again.json]).toEqual([200, 200, first.json])
    await kit.work()
    for (const requestId of [id, other.id])
      expect(await kit.test.db.prisma.privacyRequestEvent.count({ where: { requestId, event: 'retried' } })).toBe(1)
  })
})
