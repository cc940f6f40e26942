import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { commandFiles } from '#bin/kp/commands.ts'
import { doors, guardedEffects, isInPerson, withoutEffect } from '#lib/kernel/effects.ts'
import { operation } from '#lib/kernel/operation.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
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
    const actor = {
      ...{ kind: 'system', id: 'system:test', organisationId: undefined, agents: [], isAdmin: false, scopes: [] },
      ...{ isRestricted: false, quota: { unitBytes: 1, batch: 1, exportsPerDay: null }, can: () => true },
    } as const
    const ctx = { actor, ip: '', requestId: 'req', pipeline, now: test.clock.now() }
    await expect(useCase.execute(ctx, raw)).rejects.toThrow('did not consult the guard of the effect take-over')
  })
})
