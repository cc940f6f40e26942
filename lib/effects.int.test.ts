import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { commandFiles } from '#bin/kp/commands.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { doors, guardedEffects, isInPerson, withoutEffect } from '#lib/kernel/effects.ts'
import { operation } from '#lib/kernel/operation.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { emailContent } from '#lib/stores/mail/email-content.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const all = Object.values(doors)
const operations = () => test.app.useCases.map(({ operation: { id } }) => id).sort()
const unique = (names: readonly string[]) => [...new Set(names)].sort()

describe('the table of effects', () => {
  it('names every operation, job and command, in an effect or among those without one', () => {
    const named = all.flatMap(({ inPerson = [], consulted = [], rows = [] }) => [...inPerson, ...consulted, ...rows])
    expect(unique([...named, ...withoutEffect.operations])).toEqual(operations())
    expect(withoutEffect.operations.filter((id) => named.includes(id))).toEqual([])
    const jobs = all.flatMap(({ jobs = [] }) => jobs)
    expect(unique([...jobs, ...withoutEffect.jobs])).toEqual(unique(test.app.jobs.map(({ name }) => name)))
    expect(withoutEffect.jobs.filter((name) => jobs.includes(name))).toEqual([])
    const commands = all.flatMap(({ commands = [] }) => commands)
    const known = commandFiles.flatMap(({ names }) => names)
    expect(unique([...commands, ...withoutEffect.commands])).toEqual(unique(known))
  })
})

describe('operations that only people may call', () => {
  it('return 403 for a token with every scope, whatever the input', async () => {
    const { token } = await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise' })
    const inPerson = test.app.useCases.filter(({ operation: { id } }) => isInPerson(id))
    expect(inPerson.length).toBeGreaterThan(20)
    for (const { operation: one } of inPerson) {
      const path = one.path.replaceAll(/\{\w+\}/g, 'x')
      const { status, json } = await test.fetch(one.method.toUpperCase(), path, {
        token,
        ...(one.method !== 'get' && one.method !== 'delete' && { body: {} }),
      })
      expect([one.id, status, json.code]).toEqual([one.id, 403, 'forbidden'])
    }
  })

  it('need a recently entered password where they publish, claim shared keys or reset a password', async () => {
    const admin = await signedIn(test, 'admin')
    test.clock.advance(11 * 60_000)
    for (const [method, path, body] of [
      ['PATCH', '/v1/settings', { anonymous_reading: true }],
      ['PUT', `/api/admin/organisations/${admin.organisationId}/namespaces`, { namespaces: ['*'] }],
      ['POST', `/api/admin/users/${admin.accountId}/reset`, undefined],
    ] as const) {
      const { status, json } = await test.fetch(method, path, { ...admin, ...(body && { body }) })
      expect([path, status, json.code]).toEqual([path, 403, 'step_up_required'])
    }
  })
})

describe('a page of another host that leads to this server', () => {
  it.each([
    ['POST', '/v1/auth/register', {}],
    ['POST', '/api/privacy/form', {}],
  ])('gets 421 for %s %s', async (method, path, body) => {
    const asked = async (headers: Record<string, string>) => {
      const request = http.request(`${test.url}${path}`, { method, agent: false })
      for (const [name, value] of Object.entries({ 'Content-Type': 'application/json', ...headers }))
        request.setHeader(name, value)
      request.end(JSON.stringify(body))
      const [response] = await once(request, 'response')
      return { status: response.statusCode, json: JSON.parse(await text(response)) }
    }
    const { status, json } = await asked({ Host: 'rebound.example', Origin: 'http://rebound.example' })
    expect([status, json.code]).toEqual([421, 'misdirected'])
    // Clients that are no browsers may use any name of this server, and browsers its addresses.
    for (const headers of [{ Host: 'internal.example' }, { Host: '127.0.0.1', Origin: 'http://127.0.0.1' }])
      expect((await asked(headers)).status).not.toBe(421)
  })
})

describe('two-person approval', () => {
  it('hides links of emails to other people, with which an admin could approve as another admin', async () => {
    const folder = await testApp()
    try {
      const admin = await signedIn(folder, 'admin')
      const other = await signedIn(folder, 'admin')
      const send = (about: string) =>
        folder.app.mail.send({
          ...{ to: 'x@example.org', about },
          ...emailContent('en', 'A link', [`${folder.url}/password/new#c`]),
        })
      await send(other.accountId)
      const [email] = (await folder.fetch('GET', '/api/admin/outbox', admin)).json.data
      const shown = () => folder.fetch('GET', `/api/admin/outbox/${email.id}?links=show`, admin)
      expect((await shown()).status).toBe(200)
      const on = await folder.fetch('PUT', '/api/admin/approvals', { ...admin, body: { is_on: true } })
      expect(on.status, on.text).toBe(200)
      const hidden = await shown()
      expect([hidden.status, hidden.json.code]).toEqual([403, 'forbidden'])
      const reset = await folder.fetch('POST', `/api/admin/users/${other.accountId}/reset`, admin)
      expect([reset.status, reset.json.code]).toEqual([403, 'approval_required'])
    } finally {
      await folder.close()
    }
  })
})

describe('the pipeline', () => {
  const shape = { id: 'editParticipant', method: 'post', path: '/v1/test', summary: 'A test' } as const
  const rest = { permission: 'public', audit: { none: 'a test' }, limit: 'exempt', status: 200 } as const
  const forgetful = operation({ ...shape, ...rest, output: z.strictObject({}) })
  const raw = { params: {}, query: {}, headers: {}, body: undefined }

  it.each([
    ['mutation', mutation(forgetful, async () => ({ body: {}, resourceId: 'x' }))],
    ['read', read(forgetful, async () => ({ body: {}, resourceId: 'x' }))],
  ])('fails a %s that did not consult the guard of its effect', async (_, useCase) => {
    expect(guardedEffects('editParticipant')).toEqual(['take-over'])
    const { pipeline } = test.app
    const actor: Actor = {
      ...{ kind: 'system', id: 'system:test', organisationId: undefined, agents: [], isAdmin: false, scopes: [] },
      ...{ isRestricted: false, quota: { unitBytes: 1, batch: 1, exportsPerDay: null }, can: () => true },
    }
    const ctx = { actor, ip: '', requestId: 'req', pipeline, now: test.clock.now() }
    await expect(useCase.execute(ctx, raw)).rejects.toThrow('did not consult the guard of the effect take-over')
  })
})
