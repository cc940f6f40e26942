import { expect, it } from 'vitest'
import { currentEntry, navigationGroups } from './navigation.ts'

it.each([
  ['person', ['yourData', 'registry']],
  ['manager', ['yourData', 'registry']],
  ['auditor', ['yourData', 'registry', 'admin']],
  ['admin', ['yourData', 'registry', 'admin']],
] as const)('navigationGroups returns the groups that a %s may see', (role, groups) =>
  expect(navigationGroups(role).map(({ group }) => group)).toEqual(groups),
)

it.each([
  ['/overview', 'overview'],
  ['/settings/privacy?tab=download', 'downloads'],
  ['/settings/privacy?tab=data', 'privacy'],
  ['/settings/privacy', 'privacy'],
  ['/settings/privacy/delete', 'privacy'],
  ['/settings/privacy/receipts', 'ownReceipts'],
  ['/agents/agent_1/records', 'agents'],
  ['/admin/requests/new', 'requests'],
  ['/verify', undefined],
])('currentEntry returns the entry of the section for %s', (address, name) => {
  const { pathname, searchParams } = new URL(address, 'http://localhost')
  expect(currentEntry('admin', pathname, searchParams.get('tab'))?.entry.name).toBe(name)
})
