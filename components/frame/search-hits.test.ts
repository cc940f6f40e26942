import { expect, it } from 'vitest'
import type { SearchHit } from '#lib/domains/console/contract.ts'
import { pageAt } from './pages.ts'
import { hitPage } from './search-hits.ts'

const hit = (kind: SearchHit['kind'], id: string, isOwn = false): SearchHit => ({
  kind,
  id,
  title: 'Title',
  detail: 'kim@example.org',
  request_kinds: [],
  is_own: isOwn,
})

it.each([
  [hit('person', 'acc_1'), 'admin', 'user'],
  [hit('person', 'acc_1'), 'manager', 'members'],
  [hit('agent', 'agent:1', true), 'person', 'agent'],
  [hit('agent', 'agent:1'), 'admin', 'tieredAgent'],
  [hit('request', 'preq_1', true), 'person', 'ownRequest'],
  [hit('request', 'preq_1'), 'admin', 'request'],
  [hit('receipt', 'rcpt_1'), 'person', 'receipt'],
  [hit('erasure', 'run_1'), 'auditor', 'erasure'],
  [hit('unit', 'kp:trace:1'), 'person', 'unit'],
  [hit('skill', 'kp:skill:1'), 'person', 'unit'],
  [hit('project', 'prj_1'), 'person', 'project'],
] as const)('hitPage of %j for a %s is the page %s', (found, role, page) =>
  expect(pageAt(hitPage(found, role))?.name).toBe(page),
)
