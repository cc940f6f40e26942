import { expect, it } from 'vitest'
import { workPageOf } from './work-pages.ts'

const item = { kind: 'erasure', id: 'run_1', request_id: null, project_id: null, is_own: true } as const

it.each([
  [{ ...item, kind: 'export' as const }, '/settings/privacy?tab=download#download'],
  [{ ...item, kind: 'sweep' as const, is_own: false }, '/admin/retention'],
  [{ ...item, request_id: 'prq_1' }, '/settings/privacy/requests/prq_1'],
  [{ ...item, project_id: 'a:b' }, '/projects/a%3Ab/erasures/run_1'],
  [{ ...item, request_id: 'prq_1', is_own: false }, '/admin/erasures/run_1'],
  [{ ...item, project_id: 'prj_1', is_own: false }, '/admin/erasures/run_1'],
])('workPlace returns the page of the work item %o', (work, place) => {
  expect(workPageOf(work)).toBe(place)
})
