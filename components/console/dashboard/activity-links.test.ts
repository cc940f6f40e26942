import { describe, expect, it } from 'vitest'
import { changeHref } from './activity-links.ts'

const change = (resource_type: string, action = 'update') => ({ action, resource_type, resource_id: 'id/1' })

describe('changeHref', () => {
  it('returns the page of the record if the role may open it', () => {
    expect(changeHref(change('account'), 'admin')).toBe('/admin/users/id%2F1')
    expect(changeHref(change('skill'), 'auditor')).toBe('/knowledge/id%2F1')
  })

  it('returns the entries of the record in the audit log for other roles, unknown types and deleted records', () => {
    const entries = '/admin/audit?resource_id=id%2F1'
    expect(changeHref(change('account'), 'auditor')).toBe(entries)
    expect(changeHref(change('constructor'), 'admin')).toBe(entries)
    expect(changeHref(change('account', 'delete'), 'admin')).toBe(entries)
  })
})
