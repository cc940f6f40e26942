import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settlingTime } from '#lib/domains/erasure/rules.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
let author: { id: string; token: string }
let reader: { id: string; token: string }
beforeAll(async () => {
  test = await testApp()
  author = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  reader = await issuedAgent(test, ['read'], { tier: 'enterprise' })
})
afterAll(() => test.close())

const contribute = async (visibility = 'network'): Promise<string> =>
  (await test.fetch('POST', '/v1/knowledge', { token: author.token, body: trace({}, { visibility }) })).json.data.id
const erase = (id: string) => test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })
const list = (query = '') => test.fetch('GET', `/v1/tombstones?limit=2${query}`, { token: reader.token })
const idsOf = ({ json }: { json: { data: { id: string }[] } }) => json.data.map(({ id }) => id)

describe('GET /v1/tombstones (GDPR art. 19)', () => {
  it('returns erased network units, oldest first, and always a cursor to continue', async () => {
    const empty = await list()
    expect([empty.status, empty.json.data, typeof empty.json.next_cursor]).toEqual([200, [], 'string'])
    const ids: string[] = []
    for (let n = 0; n < 3; n++) {
      const id = await contribute()
      await erase(id)
      ids.push(id)
      test.clock.advance(1_000)
    }
    test.clock.advance(settlingTime)
    const first = await list(`&cursor=${empty.json.next_cursor}`)
    expect([idsOf(first), first.json.total]).toEqual([ids.slice(0, 2), 3])
    const second = await list(`&cursor=${first.json.next_cursor}`)
    expect(idsOf(second)).toEqual(ids.slice(2))
    const third = await list(`&cursor=${second.json.next_cursor}`)
    expect([idsOf(third), third.json.next_cursor]).toEqual([[], second.json.next_cursor])
    // A later request continues from this cursor.
    const later = await contribute()
    await erase(later)
    test.clock.advance(settlingTime + 1)
    expect(idsOf(await list(`&cursor=${third.json.next_cursor}`))).toEqual([later])
  })

  it('omits an erasure until no earlier transaction can still commit', async () => {
    const { next_cursor: cursor } = (await list()).json
    const id = await contribute()
    await erase(id)
    const at = (await test.db.prisma.erasedId.findUniqueOrThrow({ where: { id } })).erasedAt
    const unreported = async () => idsOf(await list(`&cursor=${cursor}`))
    expect(await unreported()).not.toContain(id)
    test.clock.advance(at.getTime() + settlingTime + 1 - test.clock.now().getTime())
    const all: string[] = []
    for (let next = ''; ; ) {
      const page = await list(next)
      if (page.json.data.length === 0) break
      all.push(...idsOf(page))
      next = `&cursor=${page.json.next_cursor}`
    }
    expect(all).toContain(id)
  })

  it('omits units that were never public, and returns units that were once public', async () => {
    const [hidden, org, withdrawn] = [await contribute('private'), await contribute('org'), await contribute()]
    const response = await test.fetch('PATCH', `/v1/knowledge/${withdrawn}`, {
      token: author.token,
      body: { visibility: 'private' },
    })
    expect(response.status).toBe(200)
    for (const id of [hidden, org, withdrawn]) await erase(id)
    test.clock.advance(settlingTime + 1)
    const { json } = await test.fetch('GET', '/v1/tombstones?limit=100', { token: reader.token })
    const ids = json.data.map(({ id }: { id: string }) => id)
    expect([ids.includes(hidden), ids.includes(org), ids.includes(withdrawn)]).toEqual([false, false, true])
  })

  it('rejects an invalid cursor with "invalid" and a missing token with 401', async () => {
    expect((await list('&cursor=nonsense')).json.code).toBe('invalid')
    expect((await test.fetch('GET', '/v1/tombstones')).status).toBe(401)
  })
})
