import type { Endpoint } from '#lib/client/request.ts'
import type {
  addChainReference,
  deleteChainReference,
  listChainReferences,
  listHeartbeats,
} from '#lib/domains/agents/life/contract.ts'
import type { deleteExchange, listExchanges, readExchange } from '#lib/domains/llm-log/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { agentPage } from './agents.ts'

const chain = '/v1/agents/{id}/chain-references'
export const notesAt: Endpoint<typeof listChainReferences> = { method: 'get', path: chain }
export const addNoteAt: Endpoint<typeof addChainReference> = { method: 'post', path: chain }
export const deleteNoteAt: Endpoint<typeof deleteChainReference> = { method: 'delete', path: `${chain}/{referenceId}` }
export const heartbeatsAt: Endpoint<typeof listHeartbeats> = { method: 'get', path: '/v1/agents/{id}/heartbeats' }
export const exchangesAt: Endpoint<typeof listExchanges> = { method: 'get', path: '/v1/llm-log' }
export const exchangeAt: Endpoint<typeof readExchange> = { method: 'get', path: '/v1/llm-log/{id}' }
export const deleteExchangeAt: Endpoint<typeof deleteExchange> = { method: 'delete', path: '/v1/llm-log/{id}' }

export const logTouched = ['/v1/llm-log']
export const chainTouched = [chain]
/** Rows per page of a list. */
export const recordsPerPage = 50

export type NotePage = Output<typeof listChainReferences>
export type Note = NotePage['data'][number]
export type HeartbeatPage = Output<typeof listHeartbeats>
export type Heartbeat = HeartbeatPage['data'][number]
export type ExchangePage = Output<typeof listExchanges>
export type ListedExchange = ExchangePage['data'][number]

/** The views of the records page; the first is the default. */
export const recordViews = ['chain', 'log', 'heartbeats'] as const
export type RecordView = (typeof recordViews)[number]
export const recordViewNamed = (text: unknown): RecordView => recordViews.find((view) => view === text) ?? 'chain'

export const recordsPage = (agentId: string, view: RecordView): string =>
  `${agentPage(agentId)}/records${view === 'chain' ? '' : `?show=${view}`}`
export const heartbeatFile = (agentId: string): string => `/v1/agents/${encodeURIComponent(agentId)}/heartbeats/export`
