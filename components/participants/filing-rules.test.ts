import { describe, expect, it } from 'vitest'
import { filingOf, type ParticipantFilingDraft } from './filing-rules.ts'

const known = { name: 'Pat Quill', email: 'pat@example.org', claimed: false }
const draft = (more: Partial<ParticipantFilingDraft>): ParticipantFilingDraft => ({
  kind: 'access',
  grace: '24h',
  name: 'Pat Quill',
  email: 'pat@example.org',
  statement: '',
  ...more,
})

describe('filingOf', () => {
  it.each<[string, Partial<ParticipantFilingDraft>, object]>([
    ['a grace only with an erasure', { kind: 'erasure', grace: '7d' }, { kinds: ['erasure'], grace: '7d' }],
    ['no statement with access', { statement: 'Words.' }, { kinds: ['access'] }],
    [
      'a statement with an objection',
      { kind: 'objection', statement: ' Why. ' },
      { kinds: ['objection'], statement: 'Why.' },
    ],
    [
      'only changed fields',
      { kind: 'rectification', name: 'Pat Q.' },
      { kinds: ['rectification'], changes: { name: 'Pat Q.' } },
    ],
    [
      'a statement without changes',
      { kind: 'rectification', statement: 'Wrong city.' },
      { kinds: ['rectification'], statement: 'Wrong city.' },
    ],
  ])('sends %s', (_, more, body) => {
    expect(filingOf(draft(more), known)).toEqual({ body })
  })

  it.each<[string, Partial<ParticipantFilingDraft>, boolean, string]>([
    ['a correction without changes', { kind: 'rectification' }, false, 'changes'],
    ['a correction with a malformed address', { kind: 'rectification', email: 'pat' }, false, 'email'],
    [
      'a correction of a claimed participation without a statement',
      { kind: 'rectification', name: 'New' },
      true,
      'statement',
    ],
  ])('rejects %s', (_, more, claimed, fault) => {
    expect(filingOf(draft(more), { ...known, claimed })).toEqual({ fault })
  })

  it('omits changes when a person claimed the participation', () => {
    const sent = draft({ kind: 'rectification', name: 'New', statement: 'My name is New.' })
    expect(filingOf(sent, { ...known, claimed: true })).toEqual({
      body: { kinds: ['rectification'], statement: 'My name is New.' },
    })
  })
})
