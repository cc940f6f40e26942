import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sentenceKeyOf } from '#components/audit/sentences.ts'
import { requestEvents } from '#lib/domains/privacy-requests/rules.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import en from '#messages/en/acts.json' with { type: 'json' }
import zh from '#messages/zh/acts.json' with { type: 'json' }

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const acts = async (cookie: string, query = '') => test.fetch('GET', `/api/audit/acts?limit=100${query}`, { cookie })

describe('GET /api/audit/acts', () => {
  it('returns 403 to people, managers and tokens without the right to audit', async () => {
    for (const role of ['person', 'manager'] as const)
      expect((await acts((await signedIn(test, role)).cookie)).status).toBe(403)
    const { token } = await issuedAgent(test, ['read', 'write'])
    expect((await test.fetch('GET', '/api/audit/acts', { token })).status).toBe(403)
  })

  it('returns 100,000 entries of one transaction as one act, and the entries before and after it', async () => {
    const { cookie } = await signedIn(test, 'auditor')
    const at = new Date(test.clock.now().getTime() - 3_600_000)
    await test.db.pool.query(
      `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
        SELECT gen_random_uuid(), $1::timestamptz + CASE n WHEN 0 THEN interval '-1 second' WHEN 100001 THEN interval '1 second' ELSE interval '0' END,
          'create', 'bulk-agent', 'knowledge', 'unit ' || n, '', '{"operation":"importDocument"}' FROM generate_series(0, 100001) AS n`,
      [at],
    )
    const pages = []
    let cursor = ''
    do {
      const { status, json } = await acts(cookie, `&agent_id=bulk-agent${cursor}`)
      expect(status).toBe(200)
      pages.push(json)
      cursor = json.next_cursor === null ? '' : `&cursor=${json.next_cursor}`
    } while (cursor !== '')
    expect(pages.length).toBeLessThan(5)
    const counts = pages.flatMap(({ data }) => data.map(({ count }: { count: number }) => count))
    expect(counts).toEqual([1, 100_000, 1])
    expect(pages.flatMap(({ data }) => data.map(({ parts }: { parts: unknown[] }) => parts.length))).toEqual([1, 1, 1])
  })

  it('never splits the entries of one time between two pages', async () => {
    const { cookie } = await signedIn(test, 'auditor')
    const now = test.clock.now().getTime()
    await test.db.pool.query(
      `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details)
        SELECT gen_random_uuid(), $1::timestamptz - (n / 7) * interval '1 second', 'create', 'sevens', 'knowledge', 'u' || n, '', '{}'
        FROM generate_series(0, 699) AS n`,
      [new Date(now - 7_200_000)],
    )
    const counts: number[] = []
    for (let cursor = ''; ; ) {
      const { json } = await acts(cookie, `&agent_id=sevens${cursor}`)
      counts.push(...json.data.map(({ count }: { count: number }) => count))
      if (json.next_cursor === null) break
      cursor = `&cursor=${json.next_cursor}`
    }
    expect(counts).toEqual(Array.from({ length: 100 }, () => 7))
  })
})

describe('sentences of the audit log', () => {
  const entry = { agentId: 'user:1', resourceId: 'x', actorName: null, resourceName: null }

  it('exist for every operation that writes an entry, and name what it did', () => {
    const weak = test.app.useCases.flatMap(({ operation: { id, audit } }) => {
      if ('none' in audit) return []
      const reported = { ...entry, action: audit.action, resourceType: audit.resourceType, details: { operation: id } }
      const key = sentenceKeyOf(en, reported)
      const isOwn = key === `operations.${id}`
      // Creating, reading and deleting are said with the type alone. A change is not: it has a sentence of its own.
      const isEnough = isOwn || ['create', 'read', 'delete'].includes(audit.action)
      return isEnough && Object.hasOwn(en.things, audit.resourceType) ? [] : [`${id} ${audit.resourceType}: ${key}`]
    })
    expect(weak).toEqual([])
    const known = new Set(test.app.useCases.map(({ operation: { id } }) => id))
    const outside = ['signIn', 'signOut', 'linkIdentity', 'resetPassword', 'addAccount', 'changeRole']
    expect(Object.keys(en.operations).filter((id) => !known.has(id) && !outside.includes(id))).toEqual([])
  })

  it('exist for every event of a request', () => {
    const missing = requestEvents.filter(
      (event) =>
        sentenceKeyOf(en, { ...entry, action: 'update', resourceType: 'request', details: { event } }) !==
        `events.${event}`,
    )
    expect(missing).toEqual([])
  })

  it('have the same keys in both languages', () => {
    for (const group of ['operations', 'events', 'system', 'plain', 'things', 'who'] as const)
      expect(Object.keys(zh[group])).toEqual(Object.keys(en[group]))
  })
})
