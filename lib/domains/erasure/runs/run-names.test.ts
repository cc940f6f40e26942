import { expect, it } from 'vitest'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { countsInLog, namedInLog, namedOnReceipt, recordIdOf, recordScopeOf, scopeKindOf } from './run-names.ts'

const part = (kind: ProjectPart['kind'], id: string, conversation: string | null): { part: ProjectPart } => ({
  part: { kind, id, project: 'prj_1', conversation },
})

it.each([
  [part('message', 'msg_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1', messageId: 'msg_1' }],
  [part('conversation', 'conv_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1' }],
  [part('document', 'doc_1', null), { projectId: 'prj_1', documentId: 'doc_1' }],
  [part('project', 'prj_1', null), { projectId: 'prj_1' }],
  [{ subject: { account: 'usr_1', agents: ['a'] } }, { subject: 'usr_1', kind: 'account' }],
  [{ subject: { account: null, agents: ['a'] } }, { subject: 'a', kind: 'agent' }],
  [{ unit: 'kp:trace:1' }, { unit: 'kp:trace:1' }],
  [{ skill: 'kp:skill:1' }, { skill: 'kp:skill:1' }],
])('namedInLog returns the ids of %j', (scope, named) => {
  expect(namedInLog(scope)).toEqual(named)
})

it('namedOnReceipt returns part_kind for a part of a project and subject_kind for a subject', () => {
  expect(namedOnReceipt(part('document', 'doc_1', null))).toEqual({ deleted_id: 'doc_1', part_kind: 'document' })
  expect(namedOnReceipt({ subject: { account: null, agents: ['a'] } })).toEqual({
    deleted_id: 'a',
    subject_kind: 'agent',
  })
})

it('namedOnReceipt returns only the id for a unit or skill', () => {
  expect(namedOnReceipt({ unit: 'kp:trace:1' })).toEqual({ deleted_id: 'kp:trace:1' })
  expect(namedOnReceipt({ skill: 'kp:skill:1' })).toEqual({ deleted_id: 'kp:skill:1' })
})

it.each([
  ['kp:skill:1', 'skill'],
  ['kp:trace:1', 'unit'],
  ['kp:sop:skill:1', 'unit'],
])('recordScopeOf returns a scope with the id %s and the kind %s', (id, kind) => {
  const scope = recordScopeOf(id)
  expect([recordIdOf(scope), scopeKindOf(scope)]).toEqual([id, kind])
})

it('countsInLog returns counts by data source, and by extra name where one exists', () => {
  expect(countsInLog({ 'projects.messages': 2, 'graph.episodes': 3 })).toEqual({
    'projects.messages': 2,
    'graph.episodes': 3,
    messagesDeleted: 2,
  })
})
