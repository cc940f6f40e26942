import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { signedIn } from '#lib/testing/people.ts'
import { closeLostRequest, deadlineNotes, lostRequests } from './deadlines-in-ledger.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app?.close())

const due = new Date('2026-12-31T00:00:00.000Z')
const file = (id: string) =>
  app.db.prisma.privacyRequest.create({
    data: {
      id,
      kinds: ['access'],
      channel: 'console',
      subjectKind: 'person',
      accountId: 'usr_1',
      subjectKey: 'key',
      receivedAt: app.clock.now(),
      legalDueAt: due,
    },
  })

test('open requests that a restored database lacks are listed with their deadlines until they are handled', async () => {
  const { db } = app
  const { ledger } = app.app
  const notes = () => deadlineNotes(db, ledger).note(app.clock.now())
  for (const id of ['req_a', 'req_b', 'req_c']) await file(id)
  await notes()
  expect(await lostRequests(db, ledger)).toEqual([])
  await db.prisma.privacyRequest.update({ where: { id: 'req_c' }, data: { closedAt: app.clock.now() } })
  const later = new Date(due.getTime() + 86_400_000)
  await db.prisma.privacyRequest.update({ where: { id: 'req_b' }, data: { legalDueAt: later } })
  await notes()
  // A backup from before the requests.
  await db.prisma.privacyRequest.deleteMany()
  await notes()
  const lost = [
    { id: 'req_a', due: due.toISOString() },
    { id: 'req_b', due: later.toISOString() },
  ]
  expect(await lostRequests(db, ledger)).toEqual(lost)
  await closeLostRequest(db, ledger, 'req_a', app.clock.now())
  expect(await lostRequests(db, ledger)).toEqual(lost.slice(1))
  await expect(closeLostRequest(db, ledger, 'req_a', app.clock.now())).rejects.toMatchObject({ code: 'not_found' })
  const rows = (await Array.fromAsync(ledger.read())).filter(({ kind }) => kind === 'request')
  expect(rows.flatMap((row) => Object.keys(row))).not.toContain('subjectKey')
})

test('POST /api/privacy/requests records the id and deadline in the ledger before it responds', async () => {
  const person = await signedIn(app)
  const body = { kinds: ['access'], password: person.password }
  const filed = await app.fetch('POST', '/api/privacy/requests', { cookie: person.cookie, body })
  expect(filed.status, filed.text).toBe(201)
  // A failover loses the row.
  await app.db.prisma.privacyRequest.deleteMany()
  expect(await lostRequests(app.db, app.app.ledger)).toContainEqual({
    id: filed.json.data.id,
    due: filed.json.data.legal_due_at,
  })
})

test('a request that is closed before the next run gets its closing row, and an open one no second row', async () => {
  const { db } = app
  const { ledger } = app.app
  const { note } = deadlineNotes(db, ledger)
  await note(app.clock.now())
  const ids: string[] = []
  for (let n = 0; n < 2; n++) {
    const person = await signedIn(app)
    const body = { kinds: ['access'], password: person.password }
    ids.push((await app.fetch('POST', '/api/privacy/requests', { cookie: person.cookie, body })).json.data.id)
  }
  const [closed = '', open = ''] = ids
  await db.prisma.privacyRequest.update({ where: { id: closed }, data: { closedAt: app.clock.now() } })
  await note(app.clock.now())
  await note(app.clock.now())
  const rows = (await Array.fromAsync(ledger.read())).filter((row) => row.kind === 'request')
  const states = (id: string) => rows.filter((row) => row.id === id).map(({ isClosed = false }) => isClosed)
  expect([states(closed), states(open)]).toEqual([[false, true], [false]])
  // Its row is purged after its retention.
  await db.prisma.privacyRequest.delete({ where: { id: closed } })
  expect((await lostRequests(db, ledger)).map(({ id }) => id)).not.toContain(closed)
})
