import { expect, it } from 'vitest'
import type { Part } from '#lib/kernel/holder.ts'
import { countsInLog, namedInLog, namedOnReceipt } from './run-names.ts'

const part = (kind: Part['kind'], id: string, conversation: string | null): { part: Part } => ({
  part: { kind, id, project: 'prj_1', conversation },
})

it.each([
  [part('message', 'msg_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1', messageId: 'msg_1' }],
  [part('conversation', 'conv_1', 'conv_1'), { projectId: 'prj_1', conversationId: 'conv_1' }],
  [part('document', 'doc_1', null), { projectId: 'prj_1', documentId: 'doc_1' }],
  [part('project', 'prj_1', null), { projectId: 'prj_1' }],
  [{ subject: { account: 'usr_1', agents: ['a'] } }, { subject: 'usr_1', kind: 'account' }],
  [{ subject: { account: null, agents: ['a'] } }, { subject: 'a', kind: 'agent' }],
])('the deletion log names %j', (scope, named) => {
  expect(namedInLog(scope)).toEqual(named)
})

it('a receipt says of a part that it is one, and of a subject which kind its id is of', () => {
  expect(namedOnReceipt(part('document', 'doc_1', null))).toEqual({ deleted_id: 'doc_1', part_kind: 'document' })
  expect(namedOnReceipt({ subject: { account: null, agents: ['a'] } })).toEqual({
    deleted_id: 'a',
    subject_kind: 'agent',
  })
})

it('the log counts by holder, and by name what has one', () => {
  expect(countsInLog({ 'projects.messages': 2, 'graph.episodes': 3 })).toEqual({
    ...{ 'projects.messages': 2, 'graph.episodes': 3, messagesDeleted: 2 },
  })
})
