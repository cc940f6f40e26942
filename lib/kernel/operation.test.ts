import { expect, test } from 'vitest'
import { z } from 'zod'
import { type AuditAction, type Method, operation } from './operation.ts'

const shape = {
  id: 'useThing',
  path: '/v1/things',
  summary: 'Use a thing',
  permission: 'things:read',
  audit: { resourceType: 'thing' },
  output: z.strictObject({}),
} as const

const derived: readonly [Method, 'read' | 'write', number, AuditAction][] = [
  ['get', 'read', 200, 'read'],
  ['post', 'write', 201, 'create'],
  ['put', 'write', 200, 'update'],
  ['patch', 'write', 200, 'update'],
  ['delete', 'write', 200, 'delete'],
]
for (const [method, limit, status, action] of derived)
  test(`operation derives limit ${limit}, status ${status} and action ${action} from ${method}`, () => {
    expect(operation({ ...shape, method })).toMatchObject({ limit, status, audit: { action, resourceType: 'thing' } })
  })

test('operation derives status 204 when there is no output', () => {
  expect(operation({ ...shape, method: 'delete', output: z.undefined() }).status).toBe(204)
})

test('operation derives status 200 when a POST does not create', () => {
  expect(operation({ ...shape, method: 'post', audit: { action: 'update', resourceType: 'thing' } }).status).toBe(200)
  expect(operation({ ...shape, method: 'post', audit: { none: 'nothing is stored' } }).status).toBe(200)
})

test('operation keeps a declared limit, status and audit rule', () => {
  const audit = { action: 'export', resourceType: 'thing' } as const
  const declared = operation({ ...shape, method: 'get', limit: 'exempt', status: 202, audit })
  expect(declared).toMatchObject({ limit: 'exempt', status: 202, audit })
  expect(operation({ ...shape, method: 'get', audit: { none: 'nothing is read' } }).audit).toEqual({
    none: 'nothing is read',
  })
})
