import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { dataNamesIn } from '#components/stores/data-names.ts'
import en from '#messages/en.ts'
import { deletedRecords, deletedSubject } from './deletion-log-query.ts'

it.each([
  // PostgreSQL sorts the members of JSON by length.
  [
    { messageId: 'msg_1', projectId: 'proj_1', conversationId: 'conv_1' },
    { kind: 'message', id: 'msg_1' },
  ],
  [
    { projectId: 'proj_1', documentId: 'doc_1', conversationId: 'conv_1' },
    { kind: 'document', id: 'doc_1' },
  ],
  [
    { projectId: 'proj_1', conversationId: 'conv_1' },
    { kind: 'conversation', id: 'conv_1' },
  ],
  [{ projectId: 'proj_1' }, { kind: 'project', id: 'proj_1' }],
  [
    { kind: 'account', subject: 'usr_1' },
    { kind: 'account', id: 'usr_1' },
  ],
  [{ subject: 'prepared exports that expired' }, { kind: 'other', id: 'prepared exports that expired' }],
  [{ unit: 'kp:trace:1' }, { kind: 'unit', id: 'kp:trace:1' }],
  [{}, { kind: 'other', id: '' }],
])('the scope %j names what was deleted', (scope, subject) => expect(deletedSubject(scope)).toEqual(subject))

it.each([
  [
    { 'projects.messages': 1, 'exports.files': 1, messagesDeleted: 1 },
    { 'projects.messages': 1, 'exports.files': 1 },
  ],
  [{ 'graph.episodes': 3, episodesDeleted: 3, entitiesDeleted: 2 }, { 'graph.episodes': 3 }],
  [
    { accounts: 1, tokens: 2 },
    { accounts: 1, tokens: 2 },
  ],
  [{ exportsDeleted: 2 }, { 'exports.files': 2 }],
  [{ somethingNew: 2 }, { somethingNew: 2 }],
])('the counts %j count each record once', (results, records) =>
  expect(Object.fromEntries(deletedRecords(results))).toEqual(records),
)

it('every count of a job and of a deletion by its owner has a name of data', () => {
  const sources = globSync('lib/domains/**/*.ts', { exclude: (name) => name.endsWith('.test.ts') })
  const counts = sources.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [
      ...text.matchAll(/deletes: \{ counts: '(\w+)'/g),
      ...text.matchAll(/\b((?!is[A-Z])\w+Deleted|contentsDestroyed|sharesRecalled)\b(?=[,:}] ?)/g),
    ].map(([, name = '']) => name)
  })
  const texts = en.dataNames.records as Record<string, string>
  const t = Object.assign((key: string) => texts[key.replace('records.', '')] ?? '', {
    has: (key: string) => key.replace('records.', '') in texts,
  }) as unknown as Parameters<typeof dataNamesIn>[0]
  // Counts that the log has only beside the counts of their data sources.
  const beside = /^(conversations|messages|documents|derived|entities|episodes|facts)Deleted$/
  const unnamed = [...new Set(counts)].filter((name) => {
    const [[dataSource = ''] = []] = deletedRecords({ [name]: 1 })
    return !beside.test(name) && dataNamesIn(t).records(dataSource, '') === ''
  })
  expect(counts.length).toBeGreaterThan(20)
  expect(unnamed).toEqual([])
})
