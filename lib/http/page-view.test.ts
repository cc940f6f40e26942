import { expect, test, vi } from 'vitest'
import type { AuditRecord, PipelinePorts } from '#lib/kernel/context.ts'
import { auditedOnce } from './page-view.ts'

const record = (changes: Partial<AuditRecord> = {}): AuditRecord => ({
  actorId: 'user:usr_1',
  action: 'read',
  resourceType: 'request',
  resourceId: 'list',
  at: new Date(),
  ip: '',
  details: { operation: 'listAllPrivacyRequests', count: 1 },
  ...changes,
})
const auditGrouped = vi.fn<PipelinePorts['auditGrouped']>(async () => {})
const pipeline = { auditGrouped } as Partial<PipelinePorts> as PipelinePorts

test('a page view writes one entry for equal reads and one for each different read', async () => {
  const view = new Map<string, Promise<void>>()
  const first = auditedOnce(pipeline, view)
  const second = auditedOnce(pipeline, view)
  await Promise.all([first.auditGrouped(record()), second.auditGrouped(record()), first.auditGrouped(record())])
  expect(auditGrouped).toHaveBeenCalledTimes(1)
  await first.auditGrouped(record({ resourceId: 'preq_1' }))
  await first.auditGrouped(record({ details: { operation: 'listAllPrivacyRequests', count: 2 } }))
  expect(auditGrouped).toHaveBeenCalledTimes(3)
})

test('every read of a page view is rejected when its entry cannot be stored', async () => {
  auditGrouped.mockRejectedValueOnce(new Error('full'))
  const view = auditedOnce(pipeline, new Map())
  const reads = await Promise.allSettled([view.auditGrouped(record()), view.auditGrouped(record())])
  expect(reads.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
