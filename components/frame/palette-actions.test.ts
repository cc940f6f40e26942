import { describe, expect, it } from 'vitest'
import { roles } from '#lib/domains/accounts/rules.ts'
import english from '../../messages/en/frame.json' with { type: 'json' }
import chinese from '../../messages/zh/frame.json' with { type: 'json' }
import { hasNames, mayOpen, pageAt, pages } from './pages.ts'
import { actionsOf } from './palette-actions.ts'

describe.each(roles)('actionsOf %s', (role) => {
  it('leads only to pages that the role may open', () => {
    const closed = actionsOf(role).filter(({ href }) => {
      const page = pageAt(href)
      return page === undefined || !mayOpen(page, role)
    })
    expect(closed).toEqual([])
  })
})

describe('actionsOf admin', () => {
  it('has an action on every page of an admin, except pages that only show something', () => {
    // Copies and readings are parts of Compliance.
    const shown = new Set(['copies', 'readings'])
    const without = pages.filter(
      ({ name, path, area, ...entry }) =>
        area === 'admin' &&
        !hasNames({ name, path, area }) &&
        mayOpen({ name, path, area, ...entry }, 'admin') &&
        !shown.has(name) &&
        !actionsOf('admin').some(({ href }) => pageAt(href)?.name === name),
    )
    expect(without.map(({ name }) => name)).toEqual([])
  })
})

describe.each([
  ['English', english],
  ['Chinese', chinese],
])('the actions in %s', (_, { actionNames, actionSynonyms }) => {
  it('have different names, and other words for each', () => {
    expect(new Set(Object.values(actionNames)).size).toBe(Object.keys(actionNames).length)
    expect(Object.keys(actionSynonyms).sort()).toEqual(Object.keys(actionNames).sort())
  })
})
