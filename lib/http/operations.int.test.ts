import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { sop, trace } from '#lib/testing/units.ts'
import type { RouteHandler } from './entry-points.ts'

const root = join(import.meta.dirname, '../..')
const original = globalThis.knowledgePulse
let test: TestApp
beforeAll(async () => {
  test = await testApp()
  // The route handlers use the application of their process, which they find when they are first imported.
  globalThis.knowledgePulse = test.app
})
afterAll(async () => {
  globalThis.knowledgePulse = original
  await test?.close()
})

const fileOf = (path: string): string => join(root, 'app', path.replaceAll(/\{(\w+)\}/g, '[$1]'), 'route.ts')
const door = async (path: string): Promise<Record<string, RouteHandler>> => import(fileOf(path))

describe('the API server and the route handlers', () => {
  it('every operation has its method in a route file, and every method of a route file its operation', async () => {
    const offered = test.app.useCases
      .map(({ operation }) => `${operation.method.toUpperCase()} ${operation.path}`)
      .sort()
    expect(offered.length).toBeGreaterThan(10)
    const files = readdirSync(join(root, 'app'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('route.ts') && !name.includes('[...'),
    )
    const there = files
      .flatMap((name) => {
        const path = `/${name.replace(/\/?route\.ts$/, '').replaceAll(/\[(\w+)\]/g, '{$1}')}`
        return [...readFileSync(join(root, 'app', name), 'utf8').matchAll(/export const (\w+) = route\(/g)].map(
          ([, method]) => `${method} ${path}`,
        )
      })
      .sort()
    expect(there).toEqual(offered)
  })

  it('route files have one line per method', () => {
    for (const { operation } of test.app.useCases) {
      const lines = readFileSync(fileOf(operation.path), 'utf8').trim().split('\n')
      expect(lines[0]).toBe("import { app, route } from '#lib/app-instance.ts'")
      for (const line of lines.slice(2))
        expect(line).toMatch(/^export const (GET|POST|PUT|PATCH|DELETE) = route\(app\.\w+\.\w+\)$/)
    }
  })

  it('return the same responses for the whole life of a unit', async () => {
    const { token } = await test.agent()
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const ask = async (
      method: string,
      path: string,
      template: string,
      body?: unknown,
      params?: Record<string, string>,
    ) => {
      const handler = (await door(template))[method]
      if (!handler) throw new Error(`no ${method} ${template}`)
      const request = new Request(`http://localhost${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return handler(request, { params: Promise.resolve(params) })
    }
    const made = await ask('POST', '/v1/knowledge', '/v1/knowledge', trace())
    expect(made.status).toBe(201)
    const { data } = await made.json()
    const id: string = data.id
    const viaNext = await ask('GET', `/v1/knowledge/${id}`, '/v1/knowledge/{id}', undefined, {
      id: encodeURIComponent(id),
    })
    const viaFront = await test.fetch('GET', `/v1/knowledge/${id}`, { token })
    expect(await viaNext.json()).toEqual(viaFront.json)
    for (const name of ['etag', 'kp-schema-version', 'x-ratelimit-limit', 'content-type', 'cache-control'])
      expect([name, viaNext.headers.get(name)]).toEqual([name, viaFront.headers.get(name)])
    const refused = await ask('POST', '/v1/knowledge', '/v1/knowledge', { nonsense: 1 })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([422, 'application/problem+json'])
    const deleted = await ask('DELETE', `/v1/knowledge/${id}`, '/v1/knowledge/{id}', undefined, {
      id: encodeURIComponent(id),
    })
    expect([deleted.status, await deleted.text()]).toEqual([204, ''])
    expect((await test.fetch('GET', `/v1/knowledge/${id}`, { token })).status).toBe(410)
    const log = await ask('GET', '/v1/audit/export?format=csv', '/v1/audit/export')
    expect((await log.text()).split('\r\n')[0]).toBe('id,timestamp,action,agentId,resourceType,resourceId,ip,details')
  })
})

/** Invented ids: as they occur in a path, and as decoded by the API server or by Next. */
const madeUp = [
  '%00',
  'a%00b',
  '%FF',
  '%ED%A0%80',
  '%',
  'x'.repeat(5_000),
  '..%2f..',
  "'",
  '%27%3B--',
  '%F0%9F%8C%8A',
  '%20',
]

// 415: the media type of an upload is checked before anything else.
const refusals = [400, 403, 404, 415, 422]

describe('an id that does not exist', () => {
  it('is rejected by every operation with a path parameter, on the API server and in route handlers, without a server error', async () => {
    const { token } = await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise' })
    const withParams = test.app.useCases.filter(({ operation }) => operation.params)
    expect(withParams.length).toBeGreaterThan(5)
    let cookie = ''
    const operations = sampled('operations that receive invented ids', withParams, 25)
    for (const [index, { operation }] of operations.entries()) {
      // A person may write only so many times a minute, and there are many operations.
      if (index % 8 === 0) cookie = (await signedIn(test, 'admin')).cookie
      for (const id of madeUp) {
        const method = operation.method.toUpperCase()
        const path = operation.path.replaceAll(/\{\w+\}/g, id)
        const body = operation.body ? '{}' : undefined
        for (const who of [{ token }, { cookie }]) {
          const { status } = await test.fetch(method, path, { ...who, body })
          expect(refusals, `${operation.id} of ${id.slice(0, 20)}`).toContain(status)
        }
        const handler = (await door(operation.path))[method]
        const headers = { Cookie: cookie, Origin: 'http://localhost:3000', 'Content-Type': 'application/json' }
        const request = new Request('http://localhost/', { method, headers, ...(body !== undefined && { body }) })
        const viaNext = await handler?.(request, { params: Promise.resolve({ id }) })
        expect(refusals, `${operation.id} of ${id.slice(0, 20)}, by Next`).toContain(viaNext?.status)
      }
    }
  })

  it('is rejected by the schema of the parameter if it has one', async () => {
    const { cookie } = await signedIn(test, 'person')
    const response = await test.fetch('DELETE', '/api/sessions/%00', { cookie })
    expect([response.status, response.json.code, response.json.issues[0].path]).toEqual([
      422,
      'invalid',
      ['params', 'id'],
    ])
  })

  it('is rejected in every query, as is text that no column accepts', async () => {
    const { token } = await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise' })
    for (const { operation } of test.app.useCases)
      for (const name of Object.keys(operation.query?.shape ?? {}))
        for (const value of madeUp) {
          const path = `${operation.path.replaceAll(/\{\w+\}/g, 'x')}?${name}=${value}`
          const { status } = await test.fetch(operation.method.toUpperCase(), path, { token })
          expect([200, ...refusals], `${operation.id}?${name}=${value.slice(0, 20)}`).toContain(status)
        }
  })
})

describe('the address of a page', () => {
  it('is rejected before it reaches Next when its percent-encoding is not UTF-8', async () => {
    const [bad, good] = [await test.fetch('GET', '/receipts/%FF'), await test.fetch('GET', '/receipts/%E2%9C%93?q=%FF')]
    expect([bad.status, bad.json.code]).toEqual([400, 'bad_request'])
    expect([good.status, good.text]).toEqual([404, 'a page'])
  })
})

describe('authorization', () => {
  it('every non-public operation returns 401 without a token, with a revoked one and with an invalid one', async () => {
    const revoked = await test.agent(['read'])
    await test.db.prisma.token.updateMany({
      where: { agentId: revoked.id },
      data: { revokedAt: new Date(), revokedReason: 'owner' },
    })
    for (const { operation } of test.app.useCases) {
      const path = operation.path.replaceAll(/\{\w+\}/g, 'x')
      const method = operation.method.toUpperCase()
      const body = operation.body ? '{}' : undefined
      if (operation.permission !== 'public') {
        // As through a proxy: operations that are open on the machine itself are open to nobody else.
        const anonymous = await test.fetch(method, path, { body, headers: { 'X-Forwarded-For': '203.0.113.9' } })
        expect([operation.id, anonymous.status]).toEqual([operation.id, 401])
        expect(anonymous.headers.get('www-authenticate')).not.toBeNull()
      }
      for (const [token, code] of [
        [revoked.token, 'token_revoked'],
        ['kp_nonsense', 'token_invalid'],
      ] as const) {
        const response = await test.fetch(method, path, { body, token })
        expect([operation.id, response.status, response.json?.code]).toEqual([operation.id, 401, code])
      }
    }
  })

  it('an agent with the scope read is rejected by every operation for writing, admins, auditors and people', async () => {
    for (const { operation } of test.app.useCases) {
      const verb = operation.permission.split(':')[1]
      if (!verb || !['write', 'admin', 'audit', 'person'].includes(verb)) continue
      const { token } = await test.agent(['read'])
      const response = await test.fetch(operation.method.toUpperCase(), operation.path.replaceAll(/\{\w+\}/g, 'x'), {
        token,
        body: operation.body ? '{}' : undefined,
      })
      expect([operation.id, response.status]).toEqual([operation.id, 403])
    }
  })

  it('an unknown address returns 404, an unsupported method 405 with Allow', async () => {
    const nowhere = await test.fetch('GET', '/v1/nowhere')
    expect([nowhere.status, nowhere.json.code]).toEqual([404, 'not_found'])
    const wrong = await test.fetch('PUT', '/v1/knowledge')
    expect([wrong.status, wrong.json.code, wrong.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'GET, POST, HEAD',
    ])
  })
})

describe('the concurrency limits', () => {
  it('the concurrency limits of erasures apply to the operations that carry out an erasure, and to no other deletion', () => {
    const operations = test.app.useCases.map(({ operation }) => operation)
    const idsOf = (isIt: (operation: (typeof operations)[number]) => boolean | undefined) =>
      operations.filter(isIt).map(({ id }) => id)
    expect(idsOf(({ pool }) => pool === 'erasures')).toEqual(
      idsOf(({ deletes }) => deletes && 'by' in deletes && deletes.by === 'erasure'),
    )
    expect(idsOf(({ pool }) => pool === 'erasures')).toContain('eraseMessage')
    expect(idsOf(({ pool }) => pool === 'registrations')).toEqual(['registerAgent'])
  })
})

describe('the size of a page', () => {
  it.each(['/v1/tombstones', '/v1/holds', '/v1/quarantine', '/v1/retention/sweeps', '/v1/sop/{id}/versions'])(
    'of %s accepts 1 to 100',
    async (path) => {
      const { token } = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
      const { json } = await test.fetch('POST', '/v1/knowledge', { token, body: sop() })
      const ask = (limit: string) =>
        test.fetch('GET', `${path.replace('{id}', json.data.id)}?limit=${limit}`, { token })
      for (const limit of ['1', '100']) {
        const response = await ask(limit)
        expect([response.status, response.json.limit]).toEqual([200, Number(limit)])
      }
      for (const limit of ['0', '101', '-1', 'x']) {
        const response = await ask(limit)
        expect([limit, response.status, response.json.issues?.[0]?.path]).toEqual([limit, 422, ['query', 'limit']])
      }
    },
  )
})

describe('the OpenAPI document', () => {
  it('contains every operation with its permission and equals the committed document', () => {
    const document = JSON.parse(JSON.stringify(test.app.openApi()))
    for (const { operation } of test.app.useCases)
      expect(document.paths[operation.path][operation.method].operationId).toBe(operation.id)
    expect(document.openapi).toBe('3.1.0')
    // `npm run openapi` rewrites it.
    expect(document).toEqual(JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')))
    const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)
    for (const [, name] of references) expect(Object.keys(document.components.schemas)).toContain(name)
  })
})
