import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Members with free text of agents and people, wherever they occur in a response. */
const members = new Set(['body', 'content', 'entry', 'payload', 'skill_md', 'text', 'title', 'unit', 'verdicts'])
/** Schemas whose only text is in short members that other resources also have. */
const schemas = new Set(['Attachment', 'Document', 'Skill', 'SkillFault'])
/** Operations that return titles of records as names. */
const titled = ['listHolds']
/** Responses that are not JSON, by what they contain. */
const files: Record<string, 'contributed' | 'not contributed'> = {
  downloadAttachment: 'contributed',
  downloadDocument: 'contributed',
  downloadExport: 'contributed',
  downloadRequestFormCopy: 'contributed',
  downloadSnapshot: 'not contributed', // sealed
  exportAgent: 'contributed',
  exportAudit: 'not contributed',
  exportDeletions: 'not contributed',
  exportHeartbeats: 'not contributed',
  exportParticipant: 'contributed',
  exportProject: 'contributed',
  exportReport: 'not contributed',
  readMetrics: 'not contributed',
  readReceiptPdf: 'not contributed',
  readSigningKeys: 'not contributed',
  searchStores: 'not contributed',
  watchErasureProgress: 'not contributed',
}
/** Members and schemas with these names that contain something else. */
const proposed = 'the request that an admin proposed'
const others: Record<string, string> = {
  readOutboxLetter: 'an email of this installation',
  forwardUnconfirmedRequest: 'an email of this installation',
  listAuditActs: 'entries of the audit log',
  readDashboard: 'entries of the audit log',
  readPerson: 'entries of the audit log',
  listProposals: proposed,
  propose: proposed,
  decideProposal: proposed,
}

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The names of all members, and the ids of all schemas, of an output. */
function namesIn(output: z.ZodType): Set<string> {
  const names = new Set<string>()
  const walk = (part: unknown): void => {
    if (!isObject(part)) return
    if (isObject(part.properties)) for (const name of Object.keys(part.properties)) names.add(name)
    if (isObject(part.$defs)) for (const id of Object.keys(part.$defs)) names.add(id)
    for (const inner of Object.values(part)) walk(inner)
  }
  walk(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' }))
  return names
}
const reasonsOf = ({ id, output, produces }: OperationShape): string[] => {
  const found = [...namesIn(output)].filter((name) => members.has(name) || schemas.has(name))
  const isFile = produces !== undefined && found.length === 0
  return isFile ? (files[id] === 'contributed' ? ['file'] : []) : found
}

describe('the header KP-Content-Trust', () => {
  it('is declared for exactly the operations whose output contains contributed text', () => {
    const operations = test.app.useCases.map(({ operation }): OperationShape => operation)
    const undeclared: string[] = []
    const needless: string[] = []
    for (const operation of operations) {
      const { id, contributed, produces } = operation
      const reasons = reasonsOf(operation)
      if (produces && reasons.length === 0) expect(Object.keys(files), id).toContain(id)
      if (reasons.length > 0 && !contributed && !(id in others)) undeclared.push(`${id}: ${reasons.join()}`)
      if (reasons.length === 0 && contributed && !titled.includes(id)) needless.push(id)
    }
    expect({ undeclared, needless }).toEqual({ undeclared: [], needless: [] })
    expect(operations.filter(({ contributed }) => contributed).length).toBeGreaterThan(40)
  })

  it('is in the OpenAPI document of these operations', () => {
    const document = JSON.parse(JSON.stringify(test.app.openApi()))
    for (const { operation } of test.app.useCases) {
      const { method, path, status } = operation
      const response = document.paths[path][method].responses[status]
      const name = response.$ref?.slice('#/components/responses/'.length)
      const { headers } = name === undefined ? response : document.components.responses[name]
      const isDeclared = (operation as OperationShape).contributed === true
      expect([operation.id, 'KP-Content-Trust' in headers]).toEqual([operation.id, isDeclared])
    }
  })

  it('is in their responses, and in no others', async () => {
    const { id, token } = await test.agent()
    expect((await test.fetch('POST', '/v1/knowledge', { token, body: trace() })).status).toBe(201)
    const trustOf = async (path: string) => {
      const { status, headers } = await test.fetch('GET', path, { token })
      return [path, status, headers.get('kp-content-trust')]
    }
    for (const path of ['/v1/knowledge?q=lock', '/v1/skills', `/v1/export/${id}`, `/v1/agents/${id}/documents`])
      expect(await trustOf(path)).toEqual([path, 200, 'untrusted'])
    const missing = '/api/projects/p/conversations/c/messages'
    expect(await trustOf(missing)).toEqual([missing, 404, 'untrusted'])
    for (const path of ['/v1/auth/tokens', '/api/projects']) expect(await trustOf(path)).toEqual([path, 200, null])
  })
})
