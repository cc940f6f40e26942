import type { Endpoint } from '#lib/client/request.ts'
import type { eraseUnit, rectifyUnit } from '#lib/domains/knowledge/contract.ts'
import type { inspectSkill, inspectUnit, listRecords } from '#lib/domains/knowledge/inspection/contract.ts'
import type { correctSkill, eraseSkill } from '#lib/domains/knowledge/skills/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const recordsAt: Endpoint<typeof listRecords> = { method: 'get', path: '/api/knowledge' }
export const unitAt: Endpoint<typeof inspectUnit> = { method: 'get', path: '/api/knowledge/{id}' }
export const skillAt: Endpoint<typeof inspectSkill> = { method: 'get', path: '/api/skills/{id}' }
export const correctUnitAt: Endpoint<typeof rectifyUnit> = { method: 'patch', path: '/v1/knowledge/{id}' }
export const correctSkillAt: Endpoint<typeof correctSkill> = { method: 'patch', path: '/v1/skills/{id}' }
export const eraseUnitAt: Endpoint<typeof eraseUnit> = { method: 'delete', path: '/v1/knowledge/{id}' }
export const eraseSkillAt: Endpoint<typeof eraseSkill> = { method: 'delete', path: '/v1/skills/{id}' }
/** Path prefixes of the cached answers that a record change affects. */
export const knowledgePaths = ['/api/knowledge', '/api/skills', '/api/agents', '/api/privacy']

export type RecordPage = Output<typeof listRecords>
export type ListedRecord = RecordPage['data'][number]
export type UnitRecord = Output<typeof inspectUnit>['data']
export type ShownUnit = UnitRecord['unit']
export type SkillRecord = Output<typeof inspectSkill>['data']
export type RecordVisibility = ListedRecord['visibility']
export const recordVisibilities = ['private', 'org', 'network'] as const satisfies readonly RecordVisibility[]
export type RecordKind = ListedRecord['kind']

export const isSkillId = (id: string): boolean => id.startsWith('kp:skill:')
/** The kind of a record, from its id. */
export const recordKindOf = (id: string): RecordKind => {
  const kind = id.split(':')[1]
  return kind === 'pattern' || kind === 'sop' || kind === 'skill' ? kind : 'trace'
}
/** Ids contain colons. */
export const recordPage = (id: string): string => `/knowledge/${encodeURIComponent(id)}`
/** The address of the record document in the API. */
export const recordDocument = (id: string): string =>
  `/v1/${isSkillId(id) ? 'skills' : 'knowledge'}/${encodeURIComponent(id)}`
export const fileNameOf = (id: string): string => `${id.replaceAll(':', '-')}.json`
export const percent = (share: number): number => Math.round(share * 100)
